// Loads compared with powers of dense matrices, with the neighbour sets of DynaHB's Definition 2 and with its examples.
// Parts and groups compared with the promises of dealing in turn.
#include "workloads/partitioners/load_aware.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/random.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

using Edges = std::vector<std::pair<VertexId, VertexId>>;  // source, target

/// Each step's edges as rows of targets; with `self`, every vertex also reads itself, as in A + I.
PreparedGraph graph_of(std::int64_t vertices, const std::vector<Edges>& steps, bool self = false) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = static_cast<std::int64_t>(steps.size());
  graph.row_offsets = {0};
  for (const Edges& edges : steps) {
    for (VertexId v = 0; v < vertices; ++v) {
      std::set<VertexId> columns;
      if (self) columns.insert(v);
      for (const auto& [source, target] : edges)
        if (target == v) columns.insert(source);
      graph.columns.append(columns.begin(), columns.end());
      graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
    }
  }
  return graph;
}

/// Vertices 1 to 4 of the examples, as 0 to 3: a pair of snapshots that gives every number printed of them.
std::vector<Edges> example_edges() {
  return {{{0, 1}, {2, 1}, {2, 0}, {0, 3}, {2, 3}}, {{0, 1}, {2, 1}, {0, 2}, {0, 3}, {2, 3}}};
}

std::vector<Edges> random_edges(std::uint32_t key, VertexId vertices, int steps, int count) {
  const RandomStream random(17, random_purpose::test, key);
  std::vector<Edges> all(steps);
  std::uint64_t draw = 0;
  const auto below = [&] { return static_cast<VertexId>(random.below(draw++, static_cast<std::uint64_t>(vertices))); };
  for (Edges& edges : all) {
    for (int i = 0; i < count; ++i) {
      const VertexId source = below(), target = below();
      if (source != target) edges.emplace_back(source, target);
    }
  }
  return all;
}

using Dense = std::vector<std::vector<double>>;

Dense times(const Dense& a, const Dense& b) {
  Dense c(a.size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

/// sum over l of (L - l + 1) times the row sums of A^l, of all steps.
std::vector<double> loads_by_powers(std::int64_t vertices, const std::vector<Edges>& steps, int hops) {
  const std::size_t n = vertices;
  std::vector<double> load(n);
  for (const Edges& edges : steps) {
    Dense a(n, std::vector<double>(n));
    for (const auto& [source, target] : edges) a[target][source] = 1;
    Dense power = a;
    for (int l = 1; l <= hops; ++l) {
      for (std::size_t v = 0; v < n; ++v)
        for (const double walks : power[v]) load[v] += (hops - l + 1) * walks;
      power = times(power, a);
    }
  }
  return load;
}

/// Definition 2: the same of the distinct l-hop neighbours, which are the in-neighbours of the (l - 1)-hop ones.
std::vector<double> loads_by_sets(std::int64_t vertices, const std::vector<Edges>& steps, int hops) {
  std::vector<double> load(vertices);
  for (const Edges& edges : steps) {
    for (VertexId v = 0; v < vertices; ++v) {
      std::set<VertexId> around = {v};
      for (int l = 1; l <= hops; ++l) {
        std::set<VertexId> next;
        for (const auto& [source, target] : edges)
          if (around.count(target) != 0) next.insert(source);
        load[v] += (hops - l + 1) * static_cast<double>(next.size());
        around = next;
      }
    }
  }
  return load;
}

std::vector<double> part_loads(const std::vector<double>& load, const std::vector<Rank>& part, int parts) {
  std::vector<double> sums(parts);
  for (std::size_t v = 0; v < load.size(); ++v) sums[part[v]] += load[v];
  return sums;
}

TEST(LoadAware, GivesTheNumbersOfTheExamples) {
  const PreparedGraph graph = graph_of(4, example_edges());
  const std::vector<double> load = walk_loads(graph, 2);
  EXPECT_EQ(load, (std::vector<double>{2, 10, 2, 10}));
  EXPECT_EQ(load, loads_by_sets(4, example_edges(), 2));
  EXPECT_EQ(part_loads(load, {0, 1, 0, 1}, 2), (std::vector<double>{4, 20}));   // Example 3, Hash
  EXPECT_EQ(part_loads(load, {0, 0, 0, 1}, 2), (std::vector<double>{14, 10}));  // Metis
  for (const bool snake : {false, true})
    EXPECT_EQ(part_loads(load, deal_by_load(load, 2, snake), 2), (std::vector<double>{12, 12}));
  const PreparedGraph first = graph_of(4, {example_edges()[0]});
  EXPECT_EQ(walk_loads(first, 2)[1], 5);  // Example 2
}

TEST(LoadAware, CountsWalksWhereDefinitionTwoCountsVertices) {
  const std::vector<Edges> diamond = {{{0, 1}, {0, 2}, {1, 3}, {2, 3}}};
  EXPECT_EQ(walk_loads(graph_of(4, diamond), 2)[3], 6);
  EXPECT_EQ(loads_by_sets(4, diamond, 2)[3], 5);
}

TEST(LoadAware, LoadsAreRowSumsOfPowers) {
  for (std::uint32_t key = 0; key < 12; ++key) {
    const auto vertices = static_cast<VertexId>(5 + key * 3);
    std::vector<Edges> edges = random_edges(key, vertices, 3, 4 * vertices);
    for (Edges& step : edges) {  // an edge is one, however often it was drawn
      std::sort(step.begin(), step.end());
      step.erase(std::unique(step.begin(), step.end()), step.end());
    }
    for (int hops = 1; hops <= 4; ++hops) {
      const std::vector<double> judge = loads_by_powers(vertices, edges, hops);
      EXPECT_EQ(walk_loads(graph_of(vertices, edges), hops), judge) << key;
      EXPECT_EQ(walk_loads(graph_of(vertices, edges, true), hops), judge) << "self-loops of A + I are no edges";
    }
  }
}

TEST(LoadAware, IsTheSameAtEveryNumberOfThreads) {
  PreparedGraph graph;
  graph.vertices = 200'000;  // several tasks a step
  graph.steps = 2;
  graph.row_offsets = {0};
  const RandomStream random(3, random_purpose::test);
  for (std::int64_t row = 0; row < 2 * graph.vertices; ++row) {
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(row % 5); ++i)
      graph.columns.push_back(static_cast<VertexId>(random.below(graph.columns.size(), 200'000)));
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  std::vector<std::vector<double>> loads;
  for (const int threads : {1, 2, 5}) {
    limit_workload_threads(threads);
    loads.push_back(walk_loads(graph, 3));
  }
  limit_workload_threads(0);
  EXPECT_EQ(loads[0], loads[1]);
  EXPECT_EQ(loads[0], loads[2]);
}

TEST(LoadAware, DealsInTurnFromTheHeaviest) {
  const std::vector<double> load = {1, 9, 4, 4, 7, 0, 4};  // descending: 1, 4, 2, 3, 6, 0, 5
  EXPECT_EQ(deal_by_load(load, 3, false), (std::vector<Rank>{2, 0, 2, 0, 1, 0, 1}));
  EXPECT_EQ(deal_by_load(load, 3, true), (std::vector<Rank>{0, 0, 2, 2, 1, 0, 1}));
}

TEST(LoadAware, SnakeEvensOutTheLeadOfTheFirstPart) {
  for (std::uint32_t key = 0; key < 8; ++key) {
    const RandomStream random(5, random_purpose::test, key);
    std::vector<double> load(2000);
    for (std::size_t v = 0; v < load.size(); ++v) load[v] = std::floor(std::pow(1 - random.uniform(v), -0.7));
    const auto apart = [&](bool snake) {
      const std::vector<double> sums = part_loads(load, deal_by_load(load, 5, snake), 5);
      return *std::max_element(sums.begin(), sums.end()) - *std::min_element(sums.begin(), sums.end());
    };
    const double heaviest = *std::max_element(load.begin(), load.end()), lightest = 1;
    // dealt in turn, one part lags behind another by less than one vertex
    EXPECT_LE(apart(false), heaviest - lightest);
    EXPECT_LE(apart(true), heaviest);
    EXPECT_LT(apart(true), apart(false)) << key;
  }
}

TEST(LoadAware, GroupsOfAPartAreEvenAndOfLikeLoad) {
  const RandomStream random(9, random_purpose::test);
  std::vector<double> load(500);
  for (std::size_t v = 0; v < load.size(); ++v) load[v] = static_cast<double>(random.below(v, 40));
  const std::vector<Rank> part = deal_by_load(load, 3, false);
  const std::vector<std::int32_t> group = balanced_groups(load, part, 3, 10);
  for (Rank p = 0; p < 3; ++p) {
    double above = 1e9;
    for (std::int32_t g = 0; g < 10; ++g) {
      std::vector<double> inside;
      for (std::size_t v = 0; v < load.size(); ++v)
        if (part[v] == p && group[v] == g) inside.push_back(load[v]);
      const std::int64_t owned = std::count(part.begin(), part.end(), p);
      EXPECT_EQ(static_cast<std::int64_t>(inside.size()), even_share(owned, 10, g).count);
      EXPECT_LE(*std::max_element(inside.begin(), inside.end()), above);
      above = *std::min_element(inside.begin(), inside.end());
    }
  }
}

TEST(LoadAware, IsAPartitionerThatReturnsItsLoads) {
  const PreparedGraph graph = graph_of(4, example_edges());
  std::vector<double> load;
  const auto& registry = PartitionerRegistry::instance();
  EXPECT_EQ(registry.find("load_aware").value(graph, 2, 1, 2, &load), (std::vector<Rank>{0, 0, 1, 1}));
  EXPECT_EQ(load, (std::vector<double>{2, 10, 2, 10}));
  registry.find("load_aware").value(graph, 2, 1, 1, &load);
  EXPECT_EQ(load, (std::vector<double>{1, 4, 1, 4}));  // degrees
  EXPECT_EQ(registry.find("load_aware_snake").value(graph, 2, 1), (std::vector<Rank>{1, 0, 0, 1}));
}

}  // namespace
}  // namespace strobe
