// A shape in a graph's place: what it counts must be what preparing its graph gives; what it does not know is asked
// for.
#include "workloads/shape/shape_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

SnapshotGraph sample_graph() {
  return load_workload("power-law", Json{{"steps", 12}, {"vertices", 300}, {"edges", 900}}, 3);
}

CompleteShape measured(const SnapshotGraph& graph) {
  return complete_shape(measure_statistics(graph, "g"), {}, "/workload");
}

Preprocessing smoothing(const std::string& smooth, std::int64_t window, bool laplacian) {
  return {.smooth = smooth, .window = window, .laplacian = laplacian, .precompute_first_product = false};
}

TEST(ShapeGraph, NonzerosOfAllStepsAreTheGraphsOwn) {
  const SnapshotGraph graph = sample_graph();
  const CompleteShape shape = measured(graph);
  for (const std::int64_t window : {1, 2, 3, 7, 50}) {
    std::vector<std::string> notes;
    const Preprocessing what = smoothing("m_product", window, false);
    const PreparedGraph counted = prepare_shape(shape, what, graph.steps(), notes);
    const PreparedGraph real = prepare(graph, what, graph.steps(), true);
    EXPECT_EQ(counted.nonzeros(), real.nonzeros()) << window;
    EXPECT_TRUE(notes.empty());
    EXPECT_FALSE(counted.has_structure());
    EXPECT_TRUE(real.has_structure());
    for (Step t = 0; t < graph.steps(); ++t) {
      const double own = real.step_nonzeros(t);
      EXPECT_NEAR(static_cast<double>(counted.step_nonzeros(t)), own, 0.1 * own) << window << " at " << t;
      if (window == 1) {
        EXPECT_EQ(counted.step_nonzeros(t), real.step_nonzeros(t));
      }
    }
  }
}

TEST(ShapeGraph, TheLaplacianAddsTheMissingDiagonal) {
  const SnapshotGraph graph = sample_graph();
  std::vector<std::string> notes;
  const Preprocessing what = smoothing("none", 1, true);
  const PreparedGraph counted = prepare_shape(measured(graph), what, graph.steps(), notes);
  EXPECT_EQ(counted.nonzeros(), prepare(graph, what, graph.steps(), true).nonzeros());
  double shares = 0;
  for (const double share : counted.counted->step_share) shares += share;
  EXPECT_NEAR(shares, 1, 1e-12) << "a cell is no reader of itself";
}

TEST(ShapeGraph, ReadersAreOutDegreesAndOfAWalkAlongTheEdgesInDegrees) {
  const SnapshotGraph graph = sample_graph();
  const CompleteShape shape = measured(graph);
  std::vector<std::string> notes;
  Preprocessing what = smoothing("none", 1, false);
  EXPECT_EQ(prepare_shape(shape, what, 12, notes).counted->readers, *shape.shape.smoothed[0].out_degree);
  what.walk = "out";
  EXPECT_EQ(prepare_shape(shape, what, 12, notes).counted->readers, *shape.shape.smoothed[0].in_degree);
  // A window that was not measured takes the nearest distribution, with the mean that the window has.
  const PreparedGraph between = prepare_shape(shape, smoothing("m_product", 4, false), 12, notes);
  EXPECT_NEAR(static_cast<double>(between.counted->readers.sum()), static_cast<double>(between.nonzeros()),
              0.01 * static_cast<double>(between.nonzeros()));
}

TEST(ShapeGraph, PoissonDegreesHoldTheirCellsAndEdges) {
  for (const double mean : {0.01, 0.5, 3.0, 40.0, 300.0}) {
    const std::int64_t cells = 1000000;
    const auto edges = static_cast<std::int64_t>(mean * static_cast<double>(cells));
    const Histogram degrees = poisson_degrees(cells, edges);
    EXPECT_EQ(degrees.count(), cells) << mean;
    EXPECT_NEAR(static_cast<double>(degrees.sum()), static_cast<double>(edges), 1e-3 * static_cast<double>(edges) + 20);
  }
  // The chance that a cell has no edge is e^-mean.
  const Histogram sparse = poisson_degrees(1000000, 500000);
  EXPECT_NEAR(static_cast<double>(sparse.bins.front().count), 1e6 * std::exp(-0.5), 1);
}

TEST(ShapeGraph, UniformDegreesBoundTheHaloFromAbove) {
  const GraphStatistics shape = measure_statistics(sample_graph(), "g");
  const Histogram uniform = poisson_degrees(shape.smoothed[0].out_degree->count(), *shape.edges);
  for (const int ranks : {2, 8, 64}) {
    EXPECT_GT(expected_halo_rows(uniform, ranks), expected_halo_rows(*shape.smoothed[0].out_degree, ranks)) << ranks;
  }
}

std::string shape_refusal(const std::string& name, const Json& options) {
  try {
    complete_shape(name, options);
  } catch (const InvalidRequest& error) {
    return error.where() + " " + error.message();
  }
  return "accepted";
}

TEST(ShapeGraph, UnknownFactsAreRequested) {
  EXPECT_NE(shape_refusal("wikipedia", Json::object()).find("/workload/steps"), std::string::npos);
  EXPECT_NE(shape_refusal("wikipedia", Json{{"steps", 30}}).find("/workload/edges"), std::string::npos);
  EXPECT_NE(shape_refusal("wikipedia", Json{{"steps", 30}, {"edges", 9000}}).find("/workload/feature_width"),
            std::string::npos);
  EXPECT_EQ(shape_refusal("wikipedia", Json{{"steps", 30}, {"edges", 9000}, {"feature_width", 2}}), "accepted");
  EXPECT_NE(shape_refusal("aml-sim-large-1", Json::object()).find("/workload/vertices"), std::string::npos);
}

TEST(ShapeGraph, AnOptionFillsAGapAndContradictsNothing) {
  EXPECT_NE(shape_refusal("aml-sim", Json{{"steps", 100}}).find("has 200 steps, not 100"), std::string::npos);
  EXPECT_EQ(shape_refusal("aml-sim", Json{{"steps", 200}}), "accepted");
  const CompleteShape chosen = complete_shape("amazon", Json{{"vertices", 900000}});
  EXPECT_EQ(*chosen.shape.vertices, 900000);
  EXPECT_TRUE(chosen.notes.empty());
}

TEST(ShapeGraph, UnpublishedVerticesGiveThePublishedCellsAndSaySo) {
  const CompleteShape amazon = complete_shape("amazon", Json::object());
  const std::int64_t cells = *amazon.shape.vertices * *amazon.shape.steps;
  EXPECT_GE(cells, *amazon.shape.active_cells);
  EXPECT_LT(cells, *amazon.shape.active_cells + *amazon.shape.steps);
  ASSERT_EQ(amazon.notes.size(), 1u);
  EXPECT_NE(amazon.notes[0].find("vertices of shape amazon"), std::string::npos);
}

TEST(ShapeGraph, SmoothedEdgesComeFromTheUserThePublicationOrABound) {
  const CompleteShape published = complete_shape("aml-sim", Json::object());
  std::vector<std::string> notes;
  EXPECT_EQ(prepare_shape(published, smoothing("m_product", 20, false), 200, notes).nonzeros(), 1094000000);
  EXPECT_EQ(prepare_shape(published, smoothing("edge_life", 20, false), 200, notes).nonzeros(), 1038000000);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("a window that is not printed"), std::string::npos);
  notes.clear();
  // Five steps cannot hold what is published for an unknown window: 124 M edges x 5, less what lies before step 0.
  const std::int64_t bounded = prepare_shape(published, smoothing("m_product", 5, false), 200, notes).nonzeros();
  EXPECT_EQ(bounded, 5 * 124000000 - (4 + 3 + 2 + 1) * 620000);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("the most there can be"), std::string::npos);
  notes.clear();
  const CompleteShape reported = complete_shape("aml-sim", Json{{"smoothed_edges", 300000000}});
  EXPECT_EQ(prepare_shape(reported, smoothing("m_product", 5, false), 200, notes).nonzeros(), 300000000);
  EXPECT_TRUE(notes.empty());
}

TEST(ShapeGraph, AShapeIsAWorkloadButNotAGraph) {
  EXPECT_TRUE(is_shape_workload("amazon"));
  EXPECT_FALSE(is_shape_workload("chess"));
  EXPECT_FALSE(is_shape_workload("uniform"));
  EXPECT_FALSE(is_shape_workload("no-such-name"));
  EXPECT_THROW(load_workload("amazon", Json::object(), 1), InvalidRequest);
  EXPECT_EQ(complete_workload_parameters("amazon", Json::object(), "/workload").at("vertices"), 0);
  EXPECT_THROW(complete_workload_parameters("amazon", Json{{"window", "30d"}}, "/workload"), InvalidRequest);
}

}  // namespace
}  // namespace strobe
