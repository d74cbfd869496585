// Partitioners: which part each vertex of a prepared graph belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/registry.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

struct PartitionerTag {
  static constexpr const char* kind = "partitioner";
  /// One part in [0, parts) per vertex [N], the same for all steps; every part is used when N >= parts. Depends on the
  /// graph's structure, `parts` and `seed` only.
  using Partition = std::vector<Rank> (*)(const PreparedGraph& graph, int parts, std::uint64_t seed);
  /// The same with vertex weights from the neighbourhood within `hops` products with A; `load`, unless it is null,
  /// receives these weights [N].
  using PartitionByLoad = std::vector<Rank> (*)(const PreparedGraph& graph, int parts, int hops,
                                                std::vector<double>* load);
  struct Value {
    Value() = default;
    Value(Partition makes, bool sizes_suffice = false) : partition(makes), from_sizes(sizes_suffice) {}
    Value(PartitionByLoad makes) : by_load(makes) {}
    /// `hops`: products with A on the way to an embedding; by default the two of a network of two layers. `load` is
    /// left empty by a partitioner that weighs nothing.
    std::vector<Rank> operator()(const PreparedGraph& graph, int parts, std::uint64_t seed, int hops = 2,
                                 std::vector<double>* load = nullptr) const {
      return by_load != nullptr ? by_load(graph, parts, hops, load) : partition(graph, parts, seed);
    }
    Partition partition = nullptr;
    PartitionByLoad by_load = nullptr;
    /// Whether the sizes of the parts, and of what they exchange, follow from the numbers of vertices and parts alone.
    bool from_sizes = false;
  };
};
using PartitionerRegistry = Registry<PartitionerTag>;

}  // namespace strobe
