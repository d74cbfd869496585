// Random graphs on which partitioners are judged.
#pragma once

#include <cmath>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe::testing_partitioners {

/// Rows of about `degree` columns, mostly of small number, so that there are hubs; some vertices read themselves.
inline PreparedGraph random_graph(std::int64_t vertices, std::int64_t steps, std::int64_t degree, std::uint32_t seed) {
  const RandomStream random(21, random_purpose::test, seed);
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  std::uint64_t draw = 0;
  for (std::int64_t row = 0; row < steps * vertices; ++row) {
    std::set<VertexId> columns;
    for (std::int64_t i = 0; i < degree; ++i)
      columns.insert(static_cast<VertexId>(std::pow(random.uniform(draw++), 1.5) * static_cast<double>(vertices)));
    if (random.below(draw++, 4) == 0) columns.insert(static_cast<VertexId>(row % vertices));
    for (const VertexId column : columns) graph.columns.push_back(column);
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

/// Communities whose vertices are scattered over the numbers: each vertex reads `inside` vertices of its own and
/// `outside` of any, at two steps.
inline PreparedGraph planted_graph(std::int64_t vertices, std::int64_t communities, int inside, int outside,
                                   std::uint32_t seed) {
  const RandomStream random(22, random_purpose::test, seed);
  const std::int64_t size = vertices / communities;
  std::vector<VertexId> id(vertices);
  for (std::size_t v = 0; v < id.size(); ++v) id[v] = static_cast<VertexId>(v);
  for (std::size_t v = 0; v + 1 < id.size(); ++v) std::swap(id[v], id[v + random.below(v, id.size() - v)]);
  std::vector<std::int64_t> place(vertices);
  for (std::size_t v = 0; v < id.size(); ++v) place[id[v]] = static_cast<std::int64_t>(v);
  PreparedGraph graph;
  graph.vertices = size * communities;
  graph.steps = 2;
  graph.row_offsets = {0};
  std::uint64_t draw = id.size();
  for (std::int64_t row = 0; row < graph.steps * graph.vertices; ++row) {
    const std::int64_t home = place[row % graph.vertices] / size * size;
    std::set<VertexId> columns;
    for (int i = 0; i < inside; ++i) columns.insert(id[home + random.below(draw++, size)]);
    for (int i = 0; i < outside; ++i) columns.insert(id[random.below(draw++, id.size())]);
    for (const VertexId column : columns) graph.columns.push_back(column);
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

}  // namespace strobe::testing_partitioners
