// Random graphs, and batches drawn from them, for the tests of harness/hybrid_batches.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "harness/hybrid_batches/encoding/frontier.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe::test {

/// Numbers below n, drawn one after the other.
class Draws {
 public:
  explicit Draws(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 engine_;
};

/// Snapshots with `degree` edges for each vertex on average; some vertices have many, others none. Features have width
/// 2. Edges stay in groups of `near` vertices, unless it is 0.
inline SnapshotGraph random_snapshots(Draws& draw, int vertices, int steps, int degree, int near = 0) {
  SnapshotGraph graph;
  graph.vertices = vertices;
  graph.feature_width = 2;
  for (int t = 0; t < steps; ++t) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets = {0};
    for (int v = 0; v < vertices; ++v) {
      std::set<VertexId> columns;
      const int most = v % 7 == 0 ? 3 * degree : 2 * degree;
      const int first = near == 0 ? 0 : v / near * near, choice = near == 0 ? vertices : near;
      for (int i = draw.below(most + 1); i > 0; --i) columns.insert(std::min(first + draw.below(choice), vertices - 1));
      snapshot->columns.append(columns.begin(), columns.end());
      snapshot->row_offsets.push_back(static_cast<std::int64_t>(snapshot->columns.size()));
    }
    for (std::size_t e = 0; e < snapshot->columns.size(); ++e)
      snapshot->values.push_back(1.0F + static_cast<float>(draw.below(8)) / 8);
    graph.snapshots.push_back(snapshot);
  }
  for (int i = 0; i < vertices * steps * 2; ++i) graph.features.push_back(static_cast<float>(draw.below(64)) / 16 - 2);
  return graph;
}

inline std::vector<VertexId> random_vertices(Draws& draw, int count, int vertices) {
  std::set<VertexId> chosen;
  while (static_cast<int>(chosen.size()) < count) chosen.insert(static_cast<VertexId>(draw.below(vertices)));
  return {chosen.begin(), chosen.end()};
}

/// Targets over some of the graph's steps. In half of the cases, single steps have other vertices.
inline BatchCells random_cells(Draws& draw, const PreparedGraph& graph) {
  const auto vertices = static_cast<int>(graph.vertices), steps = static_cast<int>(graph.steps);
  BatchCells cells;
  cells.steps.count = 1 + draw.below(steps);
  cells.steps.first = draw.below(steps - static_cast<int>(cells.steps.count) + 1);
  cells.targets = random_vertices(draw, 1 + draw.below(3), vertices);
  if (draw.below(2) == 0) {
    for (std::int64_t t = 0; t < cells.steps.count; ++t)
      cells.others.push_back(random_vertices(draw, draw.below(3), vertices));
  }
  return cells;
}

/// The columns of row v at step t.
inline std::vector<VertexId> row_of(const PreparedGraph& graph, std::int64_t v, std::int64_t t) {
  const std::size_t row = t * graph.vertices + v;
  return {graph.columns.begin() + graph.row_offsets[row], graph.columns.begin() + graph.row_offsets[row + 1]};
}

}  // namespace strobe::test
