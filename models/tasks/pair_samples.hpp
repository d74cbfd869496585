// Vertex pairs drawn for tasks on edges: positives of a step, negatives that are not edges of it, and the candidates
// that an edge is ranked among.
// Invariants: draws depend on (graph, options, seed) only; no pair joins a vertex with itself; positives of a step are
// distinct, candidates of an edge too.
// Cost: O(m_t) per step for the positives. For negatives and candidates, O(1) expected tries each where non-edges are
// frequent; elsewhere one pass over the allowed pairs or vertices.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// Whether the step has the edge source -> target: source is a column, target a row. Cost O(log degree).
bool has_edge(const Snapshot& snapshot, VertexId source, VertexId target);

/// The vertices from which pairs are drawn. Both lists ascend; an empty one means all vertices.
struct PairEnds {
  std::uint64_t vertices = 0;
  std::vector<VertexId> sources, targets;

  std::uint64_t target_count() const { return targets.empty() ? vertices : targets.size(); }
  std::uint64_t source_count() const { return sources.empty() ? vertices : sources.size(); }
  VertexId target(std::uint64_t i) const { return targets.empty() ? static_cast<VertexId>(i) : targets[i]; }
  VertexId source(std::uint64_t i) const { return sources.empty() ? static_cast<VertexId>(i) : sources[i]; }
};

/// The pairs that may be negatives. In a two-sided graph they depend on the side of the source alone.
class NegativePool {
 public:
  /// Any vertex with any; `targets`, unless empty, are the only targets.
  NegativePool(std::int64_t vertices, std::vector<VertexId> targets);
  /// For each source, the targets are the vertices of the other side (SnapshotGraph::side, [N]).
  explicit NegativePool(const std::vector<std::int8_t>& side);

  /// The ends from which the negative of an edge of `source` is drawn.
  const PairEnds& beside(VertexId source) const { return side_.empty() ? ends_[0] : ends_[side_[source] == 1 ? 1 : 0]; }

 private:
  std::array<PairEnds, 2> ends_;
  std::vector<std::int8_t> side_;
};

/// Positives of one step, and how many edges they were chosen from.
struct ChosenEdges {
  std::vector<std::pair<VertexId, VertexId>> pairs;  // source, target
  std::int64_t eligible = 0;
};

/// round(theta * eligible) edges of the step. Self-loops are not eligible; edges of `before`, unless it is null, are
/// not eligible either.
ChosenEdges choose_edges(const Snapshot& snapshot, const Snapshot* before, double theta, const RandomStream& random);

/// The same number of pairs as positives, none an edge of the step; pair i belongs to positive i (NegativePool).
/// Uniform over the allowed pairs, with repeats. Empty when there is none.
std::vector<std::pair<VertexId, VertexId>> draw_negatives(const Snapshot& snapshot, const NegativePool& pool,
                                                          const ChosenEdges& positives, const RandomStream& random);

/// Candidate targets of edges of one step, by source. result[i] has at most `wanted` distinct vertices w that are no
/// target of sources[i] at that step, uniform over these; all of them where they are fewer. The draw of edge i is keyed
/// by keys[i].
std::vector<std::vector<VertexId>> draw_candidates(const Snapshot& snapshot, const NegativePool& pool,
                                                   const std::vector<VertexId>& sources,
                                                   const std::vector<std::uint32_t>& keys, std::uint64_t wanted,
                                                   std::uint64_t seed);

}  // namespace strobe
