// Law 3 in single precision, for every model: curves of different strategies differ only by rounding. The tolerance
// follows from the number of summands, not from measurements. A sum of n terms in another order differs by about
// sqrt(n) u of the size of its terms, u = 2^-24 (Higham and Mary, A new approach to probabilistic rounding error
// analysis, SISC 2019). Errors of sums that feed each other add up. Both runs round, and every epoch starts from the
// parameters of the one before. So, for a loss that is as sensitive as its terms are large,
//   tolerance = epochs x 2 u x (sum of sqrt(n) over the longest chain of sums in an epoch).
// A chain has each layer's sums forward and, transposed, backward, then the sum of a weight's gradient over all N T
// cells. Diverging training magnifies any rounding (for example DySAT's gradient descent at a rate of 0.1), so the
// loss must fall.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/long.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Numbers of summands.
struct Sizes {
  double vertices = 0, steps = 0;
  double degree = 1;  // most neighbours that a smoothed row sums, including the vertex itself
  double width = 6;   // of every layer
};

/// Sum of sqrt(n) over one pass through a model, without gradients of weights.
using Chain = double (*)(const Sizes&);

double convolution(const Sizes& s) { return std::sqrt(s.degree) + std::sqrt(s.width); }
/// Each step sums inputs and state, of `width` each, from the step before.
double recurrence(const Sizes& s) { return s.steps * std::sqrt(2 * s.width); }
/// Mean and variance of a step over its vertices.
double batch_norm(const Sizes& s) { return 2 * std::sqrt(s.vertices); }

const std::map<std::string, Chain>& chains() {
  static const std::map<std::string, Chain> all{
      {"tm-gcn", [](const Sizes& s) { return 2 * convolution(s) + std::sqrt(5.0); }},
      {"cd-gcn", [](const Sizes& s) { return 2 * (convolution(s) + recurrence(s)); }},
      // The weights of both layers evolve in parallel, by one recurrence over all steps.
      {"evolve-gcn-o", [](const Sizes& s) { return 2 * convolution(s) + recurrence(s); }},
      // The second layer's weights read the first layer's outputs.
      {"evolve-gcn-h", [](const Sizes& s) { return 2 * (convolution(s) + recurrence(s) + std::sqrt(s.width)); }},
      {"t-gcn", [](const Sizes& s) { return 2 * convolution(s) + recurrence(s); }},
      // Scores over neighbours and their softmax, scores over the past and their softmax, projection and dense layer.
      {"dysat",
       [](const Sizes& s) { return 2 * std::sqrt(s.degree) + 2 * std::sqrt(s.steps) + 4 * std::sqrt(s.width); }},
      {"mpnn-lstm", [](const Sizes& s) { return 2 * (convolution(s) + batch_norm(s) + recurrence(s)); }},
      // Every step's gates add two walks of two hops over inputs and state.
      {"dcrnn", [](const Sizes& s) { return s.steps * (4 * std::sqrt(s.degree) + std::sqrt(5 * 2 * s.width)); }},
      // The example: one convolution, then a GRU.
      {"captured", [](const Sizes& s) { return convolution(s) + recurrence(s); }}};
  return all;
}

Json request(const std::string& model) {
  return {{"workload", {{"name", "ucsocial"}}},
          {"model", {{"name", model}}},
          {"epochs", 4},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"precision", "fp32"}};
}

const Sizes& sizes() {
  static const Sizes found = [] {
    const SnapshotGraph graph = edge_life(load_workload("ucsocial", request("tm-gcn").at("workload"), 1), 5);
    Sizes s{static_cast<double>(graph.vertices), static_cast<double>(graph.steps() - 1)};
    for (const auto& snapshot : graph.snapshots) {
      for (std::size_t v = 0; v + 1 < snapshot->row_offsets.size(); ++v) {
        const double own = snapshot->row_offsets[v + 1] - snapshot->row_offsets[v];
        s.degree = std::max(s.degree, own + 1);
      }
    }
    return s;
  }();
  return found;
}

std::vector<double> fp32_curve(Json request, const std::string& strategy, int ranks) {
  request["strategy"] = {{"name", strategy}};
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  EXPECT_TRUE(result.exact) << strategy;
  return result.loss.per_epoch;
}

class SinglePrecision : public testing::TestWithParam<std::string> {};

TEST_P(SinglePrecision, StrategiesDifferByRounding) {
  ASSERT_TRUE(chains().count(GetParam())) << "say which sums " << GetParam() << " takes one after the other";
  const double sums = 2 * chains().at(GetParam())(sizes()) + std::sqrt(sizes().vertices * sizes().steps);
  const double tolerance = 5 * 2 * 0x1.0p-24 * sums;
  const std::vector<double> sequential = fp32_curve(request(GetParam()), "sequential", 1);
  ASSERT_EQ(sequential.size(), 5u);
  EXPECT_GT(1 - sequential[4] / sequential[0], 2 * tolerance) << "learns too little to differ from rounding";
  double apart = 0;
  for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
    for (const int ranks : test::is_long() ? std::vector<int>{7} : std::vector<int>{2, 3}) {
      const std::vector<double> parallel = fp32_curve(request(GetParam()), strategy, ranks);
      ASSERT_EQ(parallel.size(), 5u) << strategy;
      for (std::size_t e = 0; e < 5; ++e) {
        const double difference = std::abs(parallel[e] / sequential[e] - 1);
        EXPECT_LE(difference, tolerance) << strategy << " at " << ranks << " ranks, epoch " << e;
        apart = std::max(apart, difference);
      }
    }
  }
  RecordProperty("tolerance", std::to_string(1e6 * tolerance) + "e-6");
  RecordProperty("largest_difference", std::to_string(1e6 * apart) + "e-6");
}

std::string model_test_name(const testing::TestParamInfo<std::string>& parameter) {
  std::string name = parameter.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Law3, SinglePrecision,
                         testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         model_test_name);
INSTANTIATE_TEST_SUITE_P(Long, SinglePrecision,
                         testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         model_test_name);

}  // namespace
}  // namespace strobe
