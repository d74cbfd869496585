// Random prepared graphs, also with missing cells, and plain forms of the inputs of chunks.
#pragma once

#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe::test {

/// A graph without values, with about `degree` entries and a self-loop in each row. With `coming_and_going` a third of
/// the cells are missing.
inline PreparedGraph random_cells(unsigned seed, std::int64_t vertices, std::int64_t steps, double degree,
                                  bool coming_and_going) {
  std::mt19937 draw(seed);
  std::vector<std::int32_t> begins(vertices * steps, -1);
  const auto at = [vertices](Step t, std::int64_t v) { return static_cast<std::size_t>(t * vertices + v); };
  for (Step t = 0; t < steps; ++t) {
    for (std::int64_t v = 0; v < vertices; ++v) {
      if (coming_and_going && draw() % 3 == 0) continue;
      begins[at(t, v)] = t > 0 && begins[at(t - 1, v)] >= 0 ? begins[at(t - 1, v)] : t;
    }
  }
  PreparedGraph graph;
  graph.vertices = vertices, graph.steps = steps;
  graph.row_offsets.push_back(0);
  const double chance = degree / static_cast<double>(vertices);
  for (Step t = 0; t < steps; ++t) {
    for (std::int64_t v = 0; v < vertices; ++v) {
      for (std::int64_t u = 0; u < vertices && begins[at(t, v)] >= 0; ++u) {
        const bool drawn = std::uniform_real_distribution<>()(draw) < chance;
        if (begins[at(t, u)] >= 0 && (u == v || drawn)) graph.columns.push_back(static_cast<VertexId>(u));
      }
      graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
    }
  }
  if (coming_and_going) graph.presence = std::make_shared<const Presence>(vertices, begins);
  return graph;
}

/// Rows with a self-loop and about `degree` random entries, without values.
inline PreparedGraph random_rows(std::int64_t vertices, std::int64_t steps, std::uint64_t degree) {
  const RandomStream random(1, random_purpose::test);
  PreparedGraph graph;
  graph.vertices = vertices, graph.steps = steps;
  graph.row_offsets = {0};
  std::uint64_t draw = 0;
  for (std::int64_t row = 0; row < vertices * steps; ++row) {
    std::set<VertexId> columns{static_cast<VertexId>(row % vertices)};
    for (std::uint64_t i = 0; i < degree; ++i)
      columns.insert(static_cast<VertexId>(random.below(draw++, static_cast<std::uint64_t>(vertices))));
    graph.columns.append(columns.begin(), columns.end());
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

/// The list of all edges between two cells: (cell, cell, weight), cells as (v, t), each pair once for each reason.
using Cell = std::pair<VertexId, Step>;
using PlainEdge = std::tuple<Cell, Cell, std::int64_t>;

inline bool cell_exists(const PreparedGraph& graph, VertexId v, Step t) {
  return graph.presence == nullptr || graph.presence->exists(v, t);
}

/// Whether all cells of v from step s to step t exist.
inline bool one_sequence(const PreparedGraph& graph, VertexId v, Step s, Step t) {
  for (Step between = s; between <= t; ++between) {
    if (!cell_exists(graph, v, between)) return false;
  }
  return true;
}

inline std::vector<PlainEdge> plain_edges(const PreparedGraph& graph, const TrafficWeights& weights) {
  std::vector<PlainEdge> edges;
  for (Step t = 0; t < graph.steps; ++t) {
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      for (auto e = graph.row_offsets[row]; e < graph.row_offsets[row + 1] && weights.spatial > 0; ++e) {
        const VertexId u = graph.columns[e];
        if (u != v) edges.push_back({{v, t}, {u, t}, weights.spatial});
      }
      for (Step s = 0; s < t; ++s) {
        if (!one_sequence(graph, v, s, t)) continue;
        if (weights.whole_sequence > 0) edges.push_back({{v, s}, {v, t}, weights.whole_sequence});
        for (const TemporalTerm& term : weights.listed) {
          const bool anew = term.reset_every > 0 && t % term.reset_every == 0;
          if (t - s <= term.reach && !anew) edges.push_back({{v, s}, {v, t}, term.weight});
        }
      }
    }
  }
  return edges;
}

/// Existing cells in the order of nodes: vertex by vertex, in order of time.
inline std::vector<Cell> cells_in_order(const PreparedGraph& graph) {
  std::vector<Cell> cells;
  for (VertexId v = 0; v < graph.vertices; ++v) {
    for (Step t = 0; t < graph.steps; ++t) {
      if (cell_exists(graph, v, t)) cells.push_back({v, t});
    }
  }
  return cells;
}

/// Weights of every kind of model.
inline std::vector<TrafficWeights> kinds_of_weights() {
  return {{6, {{1, 6, 0}}, 0}, {2, {{1, 3, 0}}, 0},           {4, {{1, 5, 3}}, 0}, {1, {{4, 1, 0}}, 0},
          {3, {}, 0},          {0, {{1, 2, 0}}, 0},           {2, {}, 1},          {0, {}, 5},
          {1, {{1, 2, 0}}, 1}, {5, {{1, 1, 0}, {3, 2, 0}}, 2}};
}

}  // namespace strobe::test
