#include "harness/placement/chunks/super_graph.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/errors.hpp"
#include "workloads/partitioners/row_share.hpp"
#include "workloads/partitioners/run_exchanges.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

bool exists(const PreparedGraph& graph, VertexId v, Step t) {
  return graph.presence == nullptr || graph.presence->exists(v, t);
}

void refuse_too_many(const PreparedGraph& graph) {
  std::int64_t cells = graph.vertices * graph.steps;
  if (graph.presence != nullptr) {
    cells = 0;
    for (Step t = 0; t < graph.steps; ++t) cells += graph.presence->count(t);
  }
  if (cells < std::int64_t{0xffffffff}) return;
  throw InvalidRequest("/strategy", "chunks are made of fewer than 2^32 - 1 cells, not of " + std::to_string(cells));
}

Column<NodeSequence> sequences_of(const PreparedGraph& graph, Run vertices) {
  GrowingColumn<NodeSequence> sequences;
  const auto steps = static_cast<std::uint32_t>(graph.steps);
  if (graph.presence == nullptr) {
    for (std::uint32_t v = 0; v < static_cast<std::uint32_t>(vertices.count); ++v)
      sequences.push_back({v * steps, steps, 0});
    return sequences.finish();
  }
  VertexId last_vertex = -1;
  Step last_begin = -1;
  for_cells(graph, vertices, [&](NodeId node, VertexId v, Step t) {
    const Step begin = graph.presence->begin(v, t);
    if (v != last_vertex || begin != last_begin) sequences.push_back({node, 0, t});
    ++sequences[sequences.size() - 1].count;
    last_vertex = v, last_begin = begin;
  });
  return sequences.finish();
}

/// The node of each vertex at one step after the other; 4 bytes a vertex.
class Nodes {
 public:
  explicit Nodes(const PreparedGraph& graph) : graph_(graph), next_(static_cast<std::size_t>(graph.vertices)) {
    if (graph.presence == nullptr) {
      for (std::size_t v = 0; v < next_.size(); ++v) next_[v] = static_cast<NodeId>(v) * steps();
      return;
    }
    NodeId nodes = 0;
    for (std::size_t v = 0; v < next_.size(); ++v) {
      next_[v] = nodes;
      for (Step t = 0; t < graph.steps; ++t) nodes += exists(graph, static_cast<VertexId>(v), t) ? 1 : 0;
    }
  }
  /// The node of vertex v at the current step of the walk. v must exist there.
  NodeId of(VertexId v) const { return next_[v]; }
  void leave(Step t) {
    for (std::size_t v = 0; v < next_.size(); ++v) next_[v] += exists(graph_, static_cast<VertexId>(v), t) ? 1 : 0;
  }

 private:
  std::uint32_t steps() const { return static_cast<std::uint32_t>(graph_.steps); }
  const PreparedGraph& graph_;
  std::vector<NodeId> next_;
};

/// Calls visit(reader, read) for each entry between two cells. Preparation has already removed entries of cells that do
/// not exist.
template <class Visit>
void walk_entries(const PreparedGraph& graph, const Visit& visit) {
  Nodes nodes(graph);
  for (Step t = 0; t < graph.steps; ++t) {
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
        const VertexId u = graph.columns[e];
        if (u != v) visit(nodes.of(static_cast<VertexId>(v)), nodes.of(u));
      }
    }
    nodes.leave(t);
  }
}

/// The other ends of entries, by node: first counted, then put.
class EntriesByNode {
 public:
  explicit EntriesByNode(std::int64_t nodes) : offsets_(static_cast<std::size_t>(nodes) + 2, reading_bound()) {}

  /// Counts two places further on, so that `put` moves each start to where the next one begins.
  void count(NodeId node) { ++offsets_[node + std::size_t{2}]; }
  void make_room() {
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    others_.resize(offsets_[offsets_.size() - 1]);
  }
  void put(NodeId node, NodeId other) { others_[offsets_[node + std::size_t{1}]++] = other; }
  std::span<NodeId> others() { return {others_.data(), others_.size()}; }
  void finish(SuperGraph& super) {
    offsets_.shrink(offsets_.size() - 1);
    super.offsets = offsets_.finish(), super.neighbours = others_.finish();
  }

 private:
  GrowingColumn<std::int64_t> offsets_;
  GrowingColumn<NodeId> others_{reading_bound()};
};

void add_spatial(const PreparedGraph& graph, SuperGraph& super) {
  EntriesByNode entries(super.nodes());
  walk_entries(graph, [&](NodeId reader, NodeId read) { entries.count(reader), entries.count(read); });
  entries.make_room();
  walk_entries(graph, [&](NodeId reader, NodeId read) { entries.put(reader, read), entries.put(read, reader); });
  entries.finish(super);
}

/// Walks the entries of own rows step by step, and calls put(own node, other node of the whole graph) for each end
/// here. Other processes tell of the entries that read own cells.
template <class Put>
void walk_shared_entries(const PreparedGraph& graph, const SuperGraphShare& share, const ShareHolders& holders,
                         const Put& put) {
  const NodeId first = share.shares.first[holders.rank];
  RowShare rows{graph, share.vertices, {}};
  Nodes nodes(graph);
  const auto put_ends = [&](VertexId read, VertexId reader) {
    if (rows.owns(reader)) put(nodes.of(reader) - first, nodes.of(read));
    if (rows.owns(read)) put(nodes.of(read) - first, nodes.of(reader));
  };
  for (Step t = 0; t < graph.steps; ++t) {
    for (const Reading& told : readings_of_others(graph, t, holders)) put_ends(told.read, told.reader);
    rows.for_readings(t, put_ends, [](VertexId) {});
    nodes.leave(t);
  }
}

/// Neighbours are numbers of the whole graph. Returns those of other processes, ascending.
std::vector<NodeId> remote_neighbours(std::span<const NodeId> neighbours, NodeId first, NodeId end) {
  std::vector<NodeId> remote;
  for (const NodeId other : neighbours)
    if (other < first || other >= end) remote.push_back(other);
  std::sort(remote.begin(), remote.end());
  remote.erase(std::unique(remote.begin(), remote.end()), remote.end());
  return {remote.begin(), remote.end()};
}

void add_shared_spatial(const PreparedGraph& graph, SuperGraphShare& share, const ShareHolders& holders) {
  SuperGraph& super = share.graph;
  EntriesByNode entries(super.nodes());
  walk_shared_entries(graph, share, holders, [&](NodeId node, NodeId) { entries.count(node); });
  entries.make_room();
  walk_shared_entries(graph, share, holders, [&](NodeId node, NodeId other) { entries.put(node, other); });
  const NodeId first = share.shares.first[holders.rank], end = share.shares.first[holders.rank + std::size_t{1}];
  share.remote = RemoteNodes(holders, share.shares, remote_neighbours(entries.others(), first, end));
  for (NodeId& other : entries.others())
    other = other >= first && other < end ? other - first : end - first + share.remote.place(other);
  entries.finish(super);
}

void add_labels(const PreparedGraph& graph, Run vertices, SuperGraph& super) {
  GrowingColumn<std::uint32_t> first_labels(super.nodes(), reading_bound());
  std::uint32_t label = 0;
  Nodes nodes(graph);
  const NodeId first = super.nodes() > 0 ? nodes.of(static_cast<VertexId>(vertices.first)) : 0;
  for (Step t = 0; t < graph.steps; ++t) {
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      const auto vertex = static_cast<VertexId>(v);
      if (!exists(graph, vertex, t)) continue;
      if (v >= vertices.first && v < vertices.first + vertices.count) first_labels[nodes.of(vertex) - first] = label;
      ++label;
    }
    nodes.leave(t);
  }
  super.first_labels = first_labels.finish();
}

}  // namespace

SuperGraph super_graph(const PreparedGraph& graph, const TrafficWeights& weights) {
  refuse_too_many(graph);
  const Run all{0, graph.vertices};
  SuperGraph super{weights, sequences_of(graph, all), {}, {}, {}};
  if (weights.spatial > 0) add_spatial(graph, super);
  add_labels(graph, all, super);
  return super;
}

SuperGraphShare super_graph_share(const PreparedGraph& graph, const TrafficWeights& weights,
                                  const ShareHolders& holders) {
  SuperGraphShare share;
  holders.together([&] {  // all are here before the first exchange
    refuse_too_many(graph);
    share.vertices = even_share(graph.vertices, holders.size, holders.rank);
    share.graph = {weights, sequences_of(graph, share.vertices), {}, {}, {}};
    add_labels(graph, share.vertices, share.graph);
  });
  run_exchanges(holders, [&](const ShareHolders& all) {
    share.shares = NodeShares(all, static_cast<NodeId>(share.graph.nodes()));
    if (weights.spatial == 0) return;
    add_shared_spatial(graph, share, all);
    const std::vector<std::uint32_t> remote = share.remote.fetch(all, share.graph.first_labels);
    share.graph.first_labels.append(remote.begin(), remote.end());
  });
  return share;
}

}  // namespace strobe
