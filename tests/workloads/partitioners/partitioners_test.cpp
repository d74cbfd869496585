// Every registered partitioner: each vertex has a part, no part stays empty, the same seed gives the same parts. The
// hypergraph against the volume that it stands for.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/random.hpp"
#include "workloads/partitioners/hypergraph.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

/// A ring: vertex v reads v - 1, at two steps.
PreparedGraph ring(std::int64_t vertices) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = 2;
  for (std::int64_t row = 0; row <= 2 * vertices; ++row) graph.row_offsets.push_back(row);
  for (std::int64_t row = 0; row < 2 * vertices; ++row) {
    graph.columns.push_back(static_cast<VertexId>((row % vertices + vertices - 1) % vertices));
  }
  graph.values64.assign(graph.columns.size(), 1.0);
  return graph;
}

/// Rows of up to `degree` drawn neighbours; some steps repeat rows of the step before them, as smoothing makes them.
PreparedGraph drawn(std::int64_t vertices, std::int64_t steps, std::uint64_t degree, std::uint32_t key) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  const RandomStream random(11, random_purpose::test, key);
  std::uint64_t draw = 0;
  for (std::int64_t row = 0; row < steps * vertices; ++row) {
    std::set<VertexId> columns;
    if (row >= vertices && random.below(draw++, 2) == 0) {
      const std::size_t last = row - vertices;
      columns.insert(graph.columns.begin() + graph.row_offsets[last],
                     graph.columns.begin() + graph.row_offsets[last + 1]);
    } else {
      for (std::uint64_t i = random.below(draw++, degree + 1); i > 0; --i) {
        columns.insert(static_cast<VertexId>(random.below(draw++, static_cast<std::uint64_t>(vertices))));
      }
    }
    graph.columns.append(columns.begin(), columns.end());
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

/// Rows that cross, counted pair by pair: (vertex, other part that reads it), once each.
std::int64_t crossing_rows(const PreparedGraph& graph, Step t, const std::vector<Rank>& part) {
  std::set<std::pair<VertexId, Rank>> crossing;
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    const std::size_t row = t * graph.vertices + v;
    for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
      const VertexId u = graph.columns[e];
      const Rank reader = part[v];
      if (part[u] != reader) crossing.emplace(u, reader);
    }
  }
  return static_cast<std::int64_t>(crossing.size());
}

std::int64_t cut_of(const Hypergraph& hypergraph, const std::vector<Rank>& part) {
  std::int64_t cut = 0;
  for (std::size_t net = 0; net < hypergraph.net_weights.size(); ++net) {
    std::set<Rank> touched;
    for (std::int64_t i = hypergraph.net_offsets[net]; i < hypergraph.net_offsets[net + 1]; ++i) {
      touched.insert(part[hypergraph.pins[i]]);
    }
    cut += hypergraph.net_weights[net] * (static_cast<std::int64_t>(touched.size()) - 1);
  }
  return cut;
}

TEST(Partitioners, CoverEveryVertexAndUseEveryPart) {
  const PreparedGraph graph = ring(37);
  for (const auto& [name, entry] : PartitionerRegistry::instance().entries()) {
    for (const int parts : {1, 2, 5, 37}) {
      const std::vector<Rank> part = entry.value(graph, parts, 1);
      ASSERT_EQ(part.size(), 37u) << name;
      for (Rank p = 0; p < parts; ++p) EXPECT_GT(std::count(part.begin(), part.end(), p), 0) << name << " part " << p;
      EXPECT_EQ(*std::max_element(part.begin(), part.end()), parts - 1) << name;
      EXPECT_EQ(*std::min_element(part.begin(), part.end()), 0) << name;
      EXPECT_EQ(part, entry.value(graph, parts, 1)) << name << " is not deterministic";
    }
  }
}

TEST(Partitioners, TakeGraphsOfAnyShape) {
  PreparedGraph edgeless = drawn(9, 2, 0, 0);
  for (const auto& [name, entry] : PartitionerRegistry::instance().entries()) {
    EXPECT_EQ(entry.value(edgeless, 3, 1).size(), 9u) << name;
    // A star: one vertex reads all others, so no partition into even halves of the work exists.
    PreparedGraph star = drawn(1, 1, 0, 0);
    star.vertices = 50;
    star.row_offsets.assign(51, 49);
    star.row_offsets.edit().front() = 0;
    for (VertexId v = 1; v < 50; ++v) star.columns.push_back(v);
    const std::vector<Rank> part = entry.value(star, 2, 1);
    EXPECT_GT(std::count(part.begin(), part.end(), 0), 0) << name;
    EXPECT_GT(std::count(part.begin(), part.end(), 1), 0) << name;
  }
}

TEST(Partitioners, RefuseAGraphOfUnknownEdgesOrDoWithoutThem) {
  PreparedGraph shape;
  shape.vertices = 12;
  shape.steps = 2;
  shape.counted_nonzeros = {30, 30};
  int refused = 0;
  for (const auto& [name, entry] : PartitionerRegistry::instance().entries()) {
    try {
      EXPECT_EQ(entry.value(shape, 3, 1).size(), 12u) << name;
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_LT(refused, static_cast<int>(PartitionerRegistry::instance().entries().size()));
}

TEST(Partitioners, RangeIsContiguousAndHashIsNot) {
  const PreparedGraph graph = ring(1000);
  const auto range = PartitionerRegistry::instance().find("range").value(graph, 4, 1);
  const auto hash = PartitionerRegistry::instance().find("hash").value(graph, 4, 1);
  EXPECT_TRUE(std::is_sorted(range.begin(), range.end()));
  EXPECT_FALSE(std::is_sorted(hash.begin(), hash.end()));
  EXPECT_EQ(std::count(hash.begin(), hash.end(), 2), 250);
  EXPECT_NE(hash, PartitionerRegistry::instance().find("hash").value(graph, 4, 2)) << "the seed does not matter";
}

TEST(Partitioners, TheOptimisingOnesFindAPlantedPartition) {
  // Four cliques whose vertices are scattered over the ids: v belongs to clique v % 4. One edge joins each two.
  PreparedGraph graph;
  graph.vertices = 80;
  graph.steps = 1;
  graph.row_offsets = {0};
  for (VertexId v = 0; v < 80; ++v) {
    for (VertexId u = 0; u < 80; ++u) {
      if (u != v && (u % 4 == v % 4 || (v < 4 && u == (v + 1) % 4))) graph.columns.push_back(u);
    }
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  for (const std::string name : {"metis", "hypergraph"}) {
    if (!PartitionerRegistry::instance().contains(name)) continue;
    const auto part = PartitionerRegistry::instance().find(name).value(graph, 4, 1);
    EXPECT_EQ(connectivity_minus_one(graph, part, 4), 4) << name;
    EXPECT_NEAR(work_imbalance(vertex_work(graph), part, 4), 1.0, 1e-9) << name;
  }
}

TEST(Connectivity, CountsEachReadingPartOnce) {
  for (const int parts : {1, 2, 5, 63, 64, 65, 130}) {
    const PreparedGraph graph = drawn(150, 3, 6, static_cast<std::uint32_t>(parts));
    const auto part = PartitionerRegistry::instance().find("hash").value(graph, parts, 1);
    std::int64_t total = 0;
    for (Step t = 0; t < 3; ++t) {
      const std::int64_t rows = crossing_rows(graph, t, part);
      EXPECT_EQ(connectivity_minus_one(graph, t, part, parts), rows) << parts << " parts, step " << t;
      EXPECT_EQ(rows == 0, parts == 1);
      total += rows;
    }
    EXPECT_EQ(connectivity_minus_one(graph, part, parts), total);
  }
}

TEST(CommunicationHypergraph, CutIsTheVolumeForEveryPartition) {
  for (const std::uint64_t degree : {1, 4, 20}) {
    const PreparedGraph graph = drawn(60, 5, degree, 77);
    const Hypergraph hypergraph = communication_hypergraph(graph);
    for (const auto& [name, entry] : PartitionerRegistry::instance().entries()) {
      for (const int parts : {2, 3, 7}) {
        const std::vector<Rank> part = entry.value(graph, parts, 1);
        EXPECT_EQ(cut_of(hypergraph, part), connectivity_minus_one(graph, part, parts)) << name << parts;
      }
    }
  }
}

TEST(CommunicationHypergraph, EqualNetsOfAllStepsAreOne) {
  // The ring's nets {v, v + 1} are the same at both steps.
  const Hypergraph hypergraph = communication_hypergraph(ring(10));
  EXPECT_EQ(hypergraph.nets(), 10);
  EXPECT_EQ(hypergraph.pins.size(), 20u);
  EXPECT_EQ(hypergraph.net_weights, std::vector<std::int64_t>(10, 2));
  EXPECT_EQ(hypergraph.vertex_weights, std::vector<std::int64_t>(10, 4));  // one non-zero and one cell per step
  // Distinct nets of a random graph: none twice, none of a single pin, pins ascend.
  const Hypergraph many = communication_hypergraph(drawn(500, 6, 3, 5));
  std::set<std::vector<VertexId>> seen;
  for (std::size_t net = 0; net < many.net_weights.size(); ++net) {
    const std::vector<VertexId> pins(many.pins.begin() + many.net_offsets[net],
                                     many.pins.begin() + many.net_offsets[net + 1]);
    EXPECT_GT(pins.size(), 1u);
    EXPECT_TRUE(std::is_sorted(pins.begin(), pins.end()));
    EXPECT_TRUE(seen.insert(pins).second);
  }
  EXPECT_GT(many.nets(), 1000) << "the table of nets never grew";
}

}  // namespace
}  // namespace strobe
