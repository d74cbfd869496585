// Partitioners: which part each vertex of a prepared graph belongs to.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/registry.hpp"
#include "workloads/partitioners/graph_share.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// An undirected graph with weights. Every edge is listed once with each of its ends.
struct WeightedGraph {
  Column<std::int64_t> offsets;  // [vertices + 1]
  Column<std::int64_t> neighbours, edge_weights;
  Column<std::int64_t> vertex_weights;  // [vertices]
};

struct PartitionerTag {
  static constexpr const char* kind = "partitioner";
  /// One part in [0, parts) per vertex [N], the same for all steps; every part is used when N >= parts. Depends on the
  /// graph's structure, `parts` and `seed` only.
  using Partition = std::vector<Rank> (*)(const PreparedGraph& graph, int parts, std::uint64_t seed);
  /// The same with vertex weights from the neighbourhood within `hops` products with A; `load`, unless it is null,
  /// receives these weights [N].
  using PartitionByLoad = std::vector<Rank> (*)(const PreparedGraph& graph, int parts, int hops,
                                                std::vector<double>* load);
  /// A partitioner that runs in parts: processes that hold one share each call it together, and each gets all owners.
  /// Parts may stay empty. With one process it is the same function. Its answer may depend on their number.
  using PartitionInParts = std::vector<Rank> (*)(const GraphShare& share, int parts, std::uint64_t seed);
  /// The same of any graph with weights, which it may release while it runs.
  using PartsOfWeighted = GrowingColumn<Rank> (*)(WeightedGraph graph, int parts, std::uint64_t seed);
  struct Value {
    Value() = default;
    /// `called`: the partitioner's name, for its refusal of a graph of unknown edges.
    Value(PartitionInParts makes, const char* called) : in_parts(makes), name(called) {}
    Value(Partition makes, bool sizes_suffice = false) : partition(makes), from_sizes(sizes_suffice) {}
    Value(PartitionByLoad makes) : by_load(makes) {}
    /// `hops`: products with A on the way to an embedding; by default the two of a network of two layers. `load` is
    /// left empty by a partitioner that weighs nothing. With several `holders`, all of them call it.
    std::vector<Rank> operator()(const PreparedGraph& graph, int parts, std::uint64_t seed, int hops = 2,
                                 std::vector<double>* load = nullptr, const ShareHolders& holders = {}) const {
      if (by_load != nullptr) return by_load(graph, parts, hops, load);
      return in_parts != nullptr ? by_shares(graph, parts, seed, holders) : partition(graph, parts, seed);
    }
    Value on_weighted(PartsOfWeighted makes) const {
      Value with = *this;
      with.weighted = makes;
      return with;
    }
    Partition partition = nullptr;
    PartitionByLoad by_load = nullptr;
    PartitionInParts in_parts = nullptr;
    PartsOfWeighted weighted = nullptr;  // null for those that divide prepared graphs only
    const char* name = "";
    /// Whether the sizes of the parts, and of what they exchange, follow from the numbers of vertices and parts alone.
    bool from_sizes = false;

   private:
    std::vector<Rank> by_shares(const PreparedGraph& graph, int parts, std::uint64_t seed,
                                const ShareHolders& holders) const {
      require_structure(graph, name);
      if (parts == 1) return std::vector<Rank>(graph.vertices, 0);
      std::vector<Rank> owner = in_parts(share_of(graph, holders), parts, seed);
      fill_empty_parts(owner, parts);
      return owner;
    }
  };
};
using PartitionerRegistry = Registry<PartitionerTag>;

}  // namespace strobe
