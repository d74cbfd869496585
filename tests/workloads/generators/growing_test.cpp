// The generator growing: sizes of DGC's Table 1 at a reduced scale, counted from edges alone; vertices that come have
// an edge; early ones have more.
#include <nlohmann/json.hpp>

#include "tests/workloads/generators/generator_support.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {
namespace {

/// The first step at which each vertex has an edge, T where it has none: [N].
std::vector<std::int64_t> first_steps(const SnapshotGraph& graph) {
  std::vector<std::int64_t> first(graph.vertices, graph.steps());
  for (std::int64_t t = graph.steps() - 1; t >= 0; --t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v < first.size(); ++v) {
      for (std::size_t i = snapshot.row_offsets[v]; i < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++i) {
        first[v] = t;
        first[snapshot.columns[i]] = t;
      }
    }
  }
  return first;
}

std::int64_t cells_seen(const SnapshotGraph& graph) {
  std::int64_t cells = 0;
  for (const std::int64_t t : first_steps(graph)) cells += graph.steps() - t;
  return cells;
}

TEST(Growing, SizesAreThoseOfTable1AtScale) {
  struct Printed {
    const char* like;
    std::int64_t steps;
    double cells, edges;
  };
  for (const Printed& printed : std::vector<Printed>{{"amazon", 121, 103e6, 5.7e6},
                                                     {"epinion", 500, 72e6, 13e6},
                                                     {"movie", 289, 43e6, 27e6},
                                                     {"stack", 93, 83e6, 47e6}}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      for (const double scale : {0.001, 0.004}) {
        SCOPED_TRACE(std::string(printed.like) + " seed " + std::to_string(seed) + " scale " + std::to_string(scale));
        const SnapshotGraph graph = load_workload("growing", {{"like", printed.like}, {"scale", scale}}, seed);
        EXPECT_EQ(graph.steps(), printed.steps);
        EXPECT_NEAR(static_cast<double>(cells_seen(graph)), scale * printed.cells, 0.02 * scale * printed.cells);
        EXPECT_NEAR(static_cast<double>(graph.edges()), scale * printed.edges, 0.02 * scale * printed.edges);
        std::int64_t present = 0;
        const auto presence = presence_of(graph, "seen");
        for (std::int64_t t = 0; t < graph.steps(); ++t) present += presence->count(t);
        EXPECT_EQ(present, cells_seen(graph));
      }
    }
  }
}

TEST(Growing, VerticesComeInOrderAtAnEvenRate) {
  for (const std::uint64_t seed : {4, 5}) {
    const Json parameters = {{"steps", 11}, {"vertices", 500}, {"first", 0.2}, {"edges", 300}};
    const std::vector<std::int64_t> first = first_steps(load_workload("growing", parameters, seed));
    for (std::size_t v = 0; v < 500; ++v)
      EXPECT_EQ(first[v], v < 100 ? 0 : 1 + (static_cast<std::int64_t>(v) - 100) / 40) << v;
  }
}

/// Ends of an edge are vertices alive u^(1 + skew): of all ends, those below x alive are a share x^(1 / (1 + skew)).
TEST(Growing, SkewIsTheShareOfEarlyVertices) {
  for (const double skew : {0.0, 0.5, 1.0}) {
    const Json parameters = {{"steps", 4}, {"vertices", 4000}, {"first", 1}, {"edges", 10000}, {"skew", skew}};
    const SnapshotGraph graph = load_workload("growing", parameters, 6);
    double early = 0, all = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      const Snapshot& snapshot = *graph.snapshots[t];
      for (std::size_t v = 0; v < 4000; ++v) {
        const double ends = snapshot.row_offsets[v + 1] - snapshot.row_offsets[v];
        early += v < 1000 ? ends : 0;
        all += ends;
      }
    }
    // The 4,000 first edges of the 40,000 have one end that is each vertex once, in half of them the target.
    const double drawn = std::pow(0.25, 1 / (1 + skew)), expected = 0.95 * drawn + 0.05 * 0.25;
    EXPECT_NEAR(early / all, expected, 0.02) << skew;
  }
}

TEST(Growing, RefusalsNameTheParameterToChange) {
  EXPECT_EQ(test::refused_parameter("growing", {{"scale", 0.5}}), "/scale");
  EXPECT_EQ(test::refused_parameter("growing", {{"vertices", 1000000}}), "/edges");
  EXPECT_EQ(test::refused_parameter("growing", {{"vertices", 20}, {"edges", 300}}), "/edges");
  EXPECT_EQ(test::refused_parameter("growing", {{"like", "stack"}, {"first", 0.9}}), "/edges");
}

}  // namespace
}  // namespace strobe
