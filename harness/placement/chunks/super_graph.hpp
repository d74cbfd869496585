// The super graph of existing cells: spatial edges of every step, and virtual temporal edges within every sequence
// (DGC, SIGMOD'23, section 4.1).
// Cells are numbered vertex by vertex, each vertex in order of time. So a sequence is a run of nodes, and its temporal
// edges need no lists. Edges to all cells of a sequence never become lists.
// Memory: 8 bytes a node for offsets, 4 for each end of each spatial entry, 12 a sequence. Under a bound of memory
// (reading_bound.hpp) large arrays lie in temporary files. Cost O(T N + nnz).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ids.hpp"
#include "harness/placement/chunks/remote_nodes.hpp"
#include "harness/placement/chunks/traffic_weights.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

using NodeId = std::uint32_t;

/// A maximal run of steps at which a vertex exists: nodes [first, first + count), of steps from `step` on.
struct NodeSequence {
  NodeId first = 0;
  std::uint32_t count = 0;
  Step step = 0;
  NodeId end() const { return first + count; }
};

struct SuperGraph {
  TrafficWeights weights;
  Column<NodeSequence> sequences;  // ascending
  Column<std::int64_t> offsets;    // [nodes + 1] into `neighbours`; empty where spatial edges weigh nothing
  /// Other ends of spatial entries, without self-loops. Each entry appears twice: with its reader, and with the cell
  /// that it reads. So two cells that read each other list one another twice.
  Column<NodeId> neighbours;
  Column<std::uint32_t>
      first_labels;  // [nodes] Eq. 1: time-major, vertices ascending; moved out by the first labelling

  std::int64_t nodes() const { return sequences.empty() ? 0 : static_cast<std::int64_t>(sequences.back().end()); }

  /// Calls visit(node, weight) for each listed edge, spatial ones first. `sequence` is the node's own. Edges to a whole
  /// sequence are not listed.
  template <class Visit>
  void for_listed(NodeId node, const NodeSequence& sequence, const Visit& visit) const {
    if (!offsets.empty()) {
      for (std::int64_t e = offsets[node]; e < offsets[node + 1]; ++e) visit(neighbours[e], weights.spatial);
    }
    for (const TemporalTerm& term : weights.listed) for_term(node, sequence, term, visit);
  }

 private:
  template <class Visit>
  static void for_term(NodeId node, const NodeSequence& sequence, const TemporalTerm& term, const Visit& visit) {
    const std::int64_t first = sequence.first, end = sequence.end(), shift = sequence.step - first;
    const std::int64_t at = node, from = std::max(first, at - term.reach), to = std::min(end - 1, at + term.reach);
    for (std::int64_t other = from; other <= to; ++other) {
      if (other == at) continue;
      const std::int64_t later = std::max(at, other) + shift;  // its step: with a reset, reach is 1
      if (term.reset_every > 0 && later % term.reset_every == 0) continue;
      visit(static_cast<NodeId>(other), term.weight);
    }
  }
};

/// Throws InvalidRequest for more than 2^32 - 2 cells.
SuperGraph super_graph(const PreparedGraph& graph, const TrafficWeights& weights);

/// The part of the super graph that one process holds: the cells of a run of vertices, as nodes 0, 1, ... Neighbours at
/// other processes have the numbers after them, in the order of `remote`. `first_labels` has theirs as well.
struct SuperGraphShare {
  Run vertices;
  SuperGraph graph;
  NodeShares shares;
  RemoteNodes remote;
};

/// All `holders` call it; the shares are even in vertices. A process reads the rows of its vertices and gets the
/// entries that read them from their readers. Memory: that of super_graph for its cells, 8 bytes for each remote cell,
/// 4 bytes for each entry that crosses shares while it is built, and 4 bytes for each vertex of the graph.
SuperGraphShare super_graph_share(const PreparedGraph& graph, const TrafficWeights& weights,
                                  const ShareHolders& holders);

/// visit(node, v, t) of every cell of these vertices that exists, in the order of nodes, which begin with 0.
template <class Visit>
void for_cells(const PreparedGraph& graph, Run vertices, const Visit& visit) {
  NodeId node = 0;
  for (std::int64_t v = vertices.first; v < vertices.first + vertices.count; ++v) {
    for (Step t = 0; t < graph.steps; ++t) {
      if (graph.presence != nullptr && !graph.presence->exists(static_cast<VertexId>(v), t)) continue;
      visit(node++, static_cast<VertexId>(v), t);
    }
  }
}

/// The same of all vertices.
template <class Visit>
void for_cells(const PreparedGraph& graph, const Visit& visit) {
  for_cells(graph, {0, graph.vertices}, visit);
}

}  // namespace strobe
