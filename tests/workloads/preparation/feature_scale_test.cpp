#include "workloads/preparation/feature_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Random features [steps, 5, 3]: counts, a column that is constant in the first four steps, and signed numbers.
SnapshotGraph random_features(unsigned seed, std::int64_t steps) {
  SnapshotGraph graph = load_workload("uniform", {{"vertices", 5}, {"steps", steps}, {"density", 1}}, seed);
  graph.feature_width = 3;
  graph.features.clear();
  std::mt19937 draw(seed);
  for (std::int64_t t = 0; t < steps; ++t) {
    for (int v = 0; v < 5; ++v) {
      graph.features.push_back(static_cast<float>(draw() % 1000));
      graph.features.push_back(t < 4 ? 0.1f : 7.0f);
      graph.features.push_back(static_cast<float>(draw() % 1000) - 500.5f);
    }
  }
  return graph;
}

TEST(FeatureScale, StandardisesOverTheTrainingStepsAlone) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const SnapshotGraph graph = random_features(seed, 6);
    const FeatureScale scale(graph, "standardise", 4, true);
    for (std::size_t f = 0; f < 3; ++f) {
      double mean = 0, variance = 0;
      for (std::size_t cell = 0; cell < 20; ++cell) mean += static_cast<double>(graph.features[3 * cell + f]) / 20;
      for (std::size_t cell = 0; cell < 20; ++cell)
        variance += std::pow(static_cast<double>(graph.features[3 * cell + f]) - mean, 2) / 20;
      for (std::int64_t t = 0; t < 6; ++t) {
        const std::vector<double> x = scale.step(t);
        for (std::size_t v = 0; v < 5; ++v) {
          const double raw = graph.features[(static_cast<std::size_t>(t) * 5 + v) * 3 + f];
          EXPECT_NEAR(x[3 * v + f], f == 1 ? 0.0 : (raw - mean) / std::sqrt(variance), 1e-12);
        }
      }
    }
  }
}

TEST(FeatureScale, LogarithmsKeepSignAndZero) {
  SnapshotGraph graph = random_features(4, 5);
  graph.features.edit()[0] = 0;
  graph.features.edit()[3] = 999;
  const std::vector<double> x = FeatureScale(graph, "log1p", 3, false).step(0);
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[3], std::log(1000.0), 1e-14);
  const double raw = graph.features[2];
  EXPECT_NEAR(x[2], raw < 0 ? -std::log(1 - raw) : std::log(1 + raw), 1e-12);
}

TEST(FeatureScale, ComesBeforeEverythingElse) {
  const SnapshotGraph graph = random_features(5, 6);
  SnapshotGraph scaled = graph;
  const FeatureScale scale(graph, "standardise", 5, true);
  scaled.exact_features.clear();
  for (std::int64_t t = 0; t < 6; ++t)
    for (const double value : scale.step(t)) scaled.exact_features.push_back(value);
  for (const bool precompute : {true, false}) {
    Preprocessing what{.smooth = "m_product", .window = 3, .smooth_features = true};
    what.precompute_first_product = precompute;
    const PreparedGraph expected = prepare(scaled, what, 6, true);
    EXPECT_EQ(prepare_scaled(scale, what, 6, true).features64, expected.features64);
    const PreparedGraph single = prepare_scaled(FeatureScale(graph, "standardise", 5, false), what, 6, false);
    for (std::size_t i = 0; i < single.features32.size(); ++i)
      ASSERT_EQ(single.features32[i], static_cast<float>(expected.features64[i]));
  }
  EXPECT_THROW(prepare(graph, {.feature_scale = "sqrt"}, 6, true), InvalidRequest);
}

TEST(FeatureScale, IsAnOptionOfEveryWorkload) {
  for (const std::string workload : {"ucsocial", "uniform", "power-law", "aml-sim"}) {
    const Json plain = complete_workload_parameters(workload, Json::object(), "/workload");
    EXPECT_FALSE(plain.contains("feature_scale")) << "ids of before stay";
    EXPECT_EQ(complete_workload_parameters(workload, {{"feature_scale", "auto"}}, "/workload"), plain);
    Json scaled = complete_workload_parameters(workload, {{"feature_scale", "log1p"}}, "/workload");
    EXPECT_EQ(scaled.at("feature_scale"), "log1p");
    scaled.erase("feature_scale");
    EXPECT_EQ(scaled, plain);
    EXPECT_THROW(complete_workload_parameters(workload, {{"feature_scale", "log2"}}, "/workload"), InvalidRequest);
  }
  EXPECT_EQ(load_workload("uniform", {{"vertices", 9}, {"steps", 3}, {"feature_scale", "log1p"}}, 1).features,
            load_workload("uniform", {{"vertices", 9}, {"steps", 3}}, 1).features)
      << "the graph itself is not scaled";
}

}  // namespace
}  // namespace strobe
