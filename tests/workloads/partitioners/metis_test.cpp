// A cut that METIS must find when it is built in: two communities without common edges are never cut.
#include <gtest/gtest.h>

#include "core/random.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

/// Even and odd vertices as two dense communities, at three steps.
PreparedGraph two_communities(std::int64_t vertices) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = 3;
  graph.row_offsets.push_back(0);
  const RandomStream random(1, random_purpose::test);
  std::uint64_t draw = 0;
  for (std::int64_t row = 0; row < graph.steps * vertices; ++row) {
    for (VertexId u = static_cast<VertexId>(row % vertices % 2); u < vertices; u += 2) {
      if (random.below(draw++, 3) == 0) graph.columns.push_back(u);
    }
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

TEST(Metis, NeverCutsCommunitiesApart) {
  if (!PartitionerRegistry::instance().contains("metis")) GTEST_SKIP() << "built without METIS (apt: libmetis-dev)";
  const auto part = PartitionerRegistry::instance().find("metis").value(two_communities(60), 2, 1);
  for (std::size_t v = 2; v < part.size(); ++v) EXPECT_EQ(part[v], part[v - 2]) << "vertex " << v;
  EXPECT_NE(part[0], part[1]);
}

}  // namespace
}  // namespace strobe
