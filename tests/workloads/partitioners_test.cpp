// Every registered partitioner: each vertex has a part, no part stays empty, the same seed gives the same parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "workloads/partitioner.hpp"

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

TEST(Partitioners, RangeIsContiguousAndHashIsNot) {
  const PreparedGraph graph = ring(1000);
  const auto range = PartitionerRegistry::instance().find("range").value(graph, 4, 1);
  const auto hash = PartitionerRegistry::instance().find("hash").value(graph, 4, 1);
  EXPECT_TRUE(std::is_sorted(range.begin(), range.end()));
  EXPECT_FALSE(std::is_sorted(hash.begin(), hash.end()));
  EXPECT_EQ(std::count(hash.begin(), hash.end(), 2), 250);
  EXPECT_NE(hash, PartitionerRegistry::instance().find("hash").value(graph, 4, 2)) << "the seed does not matter";
}

}  // namespace
}  // namespace strobe
