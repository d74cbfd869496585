// Prepared graphs from lists of entries, and differences counted entry by entry, for the tests of transfers.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "workloads/preparation/graph_difference.hpp"

namespace strobe::test {

/// One snapshot: (row, column) to value.
using Entries = std::map<std::pair<VertexId, VertexId>, double>;

inline PreparedGraph prepared(std::int64_t vertices, const std::vector<Entries>& steps, bool fp64) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = static_cast<std::int64_t>(steps.size());
  graph.feature_width = 2;
  graph.row_offsets = {0};
  for (const Entries& step : steps) {
    auto next = step.begin();
    for (VertexId v = 0; v < vertices; ++v) {
      for (; next != step.end() && next->first.first == v; ++next) {
        graph.columns.push_back(next->first.second);
        fp64 ? graph.values64.push_back(next->second) : graph.values32.push_back(static_cast<float>(next->second));
      }
      graph.row_offsets.push_back(graph.nonzeros());
    }
  }
  for (std::int64_t i = 0; i < graph.steps * vertices * graph.feature_width; ++i) {
    fp64 ? graph.features64.push_back(0.5 * static_cast<double>(i)) : graph.features32.push_back(static_cast<float>(i));
  }
  return graph;
}

inline Entries entries_of(const PreparedGraph& graph, Step t) {
  Entries entries;
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    const std::size_t row = t * graph.vertices + v;
    for (std::size_t e = graph.row_offsets[row]; e < static_cast<std::size_t>(graph.row_offsets[row + 1]); ++e) {
      entries[{static_cast<VertexId>(v), graph.columns[e]}] =
          graph.values64.empty() ? static_cast<double>(graph.values32[e]) : graph.values64[e];
    }
  }
  return entries;
}

/// The difference by its definition, one entry at a time.
inline GraphDifference naive_difference(const PreparedGraph& graph, Step from, Step to) {
  const Entries before = entries_of(graph, from), after = entries_of(graph, to);
  GraphDifference found;
  std::int32_t position = 0;
  for (const auto& [place, value] : before) {
    if (!after.contains(place)) found.removed.push_back(position);
    ++position;
  }
  position = 0;
  for (const auto& [place, value] : after) {
    const auto old = before.find(place);
    if (old == before.end()) {
      found.added.push_back(position);
    } else if (old->second != value) {
      found.changed.push_back(position);
    }
    ++position;
  }
  found.sizes = {graph.vertices,
                 static_cast<std::int64_t>(after.size()),
                 static_cast<std::int64_t>(before.size()),
                 static_cast<std::int64_t>(found.removed.size()),
                 static_cast<std::int64_t>(found.added.size()),
                 static_cast<std::int64_t>(found.changed.size())};
  return found;
}

/// The parameters of a random test graph: entries stay with probability `overlap`, values of those change with
/// `change`.
struct Drift {
  std::int64_t vertices = 1, steps = 1;
  double degree = 1, overlap = 1, change = 0;
  bool skewed = false;  // most entries lie in one row
};

/// Steps 3 and 4 of every 8 are empty; the first and the last row have entries in all others.
inline std::vector<Entries> draw_steps(const Drift& drift, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  std::uint64_t drawn = 0;
  const std::uint64_t n = drift.vertices;
  const auto value = [&] { return static_cast<double>(static_cast<float>(random.uniform(drawn++))); };
  const auto vertex = [&] { return static_cast<VertexId>(random.below(drawn++, n)); };
  std::vector<Entries> steps;
  Entries now;
  for (std::int64_t t = 0; t < drift.steps; ++t) {
    Entries next;
    for (const auto& [place, old] : now) {
      if (random.uniform(drawn++) < drift.overlap) next[place] = random.uniform(drawn++) < drift.change ? value() : old;
    }
    const auto wanted = static_cast<std::size_t>(drift.degree * static_cast<double>(n));
    for (std::size_t tries = 0; next.size() < wanted && tries < 4 * wanted; ++tries) {
      const VertexId row = drift.skewed && tries % 4 != 0 ? static_cast<VertexId>(drift.vertices / 2) : vertex();
      next.try_emplace({row, vertex()}, value());
    }
    next.try_emplace({0, vertex()}, value());
    next.try_emplace({static_cast<VertexId>(drift.vertices - 1), vertex()}, value());
    if (t % 8 == 3 || t % 8 == 4) next.clear();
    steps.push_back(next);
    if (!next.empty()) now = std::move(next);
  }
  return steps;
}

inline std::vector<Drift> test_drifts() {
  return {{1, 6, 1.0, 0.5, 0.5},          {2, 9, 1.0, 0.5, 0.2},      {60, 10, 0.3, 0.9, 0.1},
          {60, 10, 5.0, 0.0, 1.0},        {300, 9, 20.0, 0.95, 0.02}, {200, 9, 45.0, 0.6, 0.5},
          {500, 7, 18.0, 0.9, 0.3, true}, {90, 6, 30.0, 1.0, 0.0}};
}

/// Every step has z = 50 N entries. Exactly the share 1 - replaced / 50 of them was there one step before; values are
/// new in every step.
inline PreparedGraph sliding_graph(std::int64_t vertices, std::int64_t steps, std::int64_t replaced) {
  std::vector<Entries> all;
  for (std::int64_t t = 0; t < steps; ++t) {
    Entries& step = all.emplace_back();
    for (std::int64_t v = 0; v < vertices; ++v) {
      for (std::int64_t k = 0; k < 50; ++k) {
        step[{static_cast<VertexId>(v), static_cast<VertexId>((7 * v + replaced * t + k) % vertices)}] =
            static_cast<double>(t * 50 + k);
      }
    }
  }
  return prepared(vertices, all, false);
}

}  // namespace strobe::test
