// Cells that exist: with every value of `presence`, every model under every kind of placement gives the sequential
// curve, on random graphs whose vertices appear, pause and disappear. The golden fixtures and the plain references test
// the meaning of `presence`; this file tests that it changes results.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"

namespace strobe {
namespace {

using test::ComingsAndGoings;

std::vector<double> curve(Json request, const Json& strategy, std::int64_t ranks) {
  request["strategy"] = strategy;
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result.loss.per_epoch;
}

void expect_same(const std::vector<double>& losses, const std::vector<double>& sequential, const std::string& what) {
  ASSERT_EQ(losses.size(), sequential.size()) << what;
  for (std::size_t e = 0; e < losses.size(); ++e) EXPECT_NEAR(losses[e] / sequential[e], 1.0, 1e-10) << what;
}

std::vector<Json> present_models() {
  std::vector<Json> models;
  for (const std::string& name : names_with<ModelTag>(&ModelTag::Value::family, "snapshots"))
    models.push_back({{"name", name}});
  models.push_back({{"name", "tm-gcn"}, {"pairs", 2}, {"window", 3}});
  models.push_back({{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}});
  models.push_back({{"name", "t-gcn"}, {"conv", "xh"}});
  models.push_back({{"name", "dysat"}, {"structural_dropout", 0.2}, {"temporal_dropout", 0.4}});
  models.push_back({{"name", "evolve-gcn-h"}, {"mask", "none"}});
  return models;
}

class PresenceLaw : public testing::TestWithParam<std::string> {};

TEST_P(PresenceLaw, EveryPlacementGivesTheSequentialCurve) {
  unsigned seed = 0;
  for (const Json& model : present_models()) {
    const ComingsAndGoings graph(++seed);
    const Json request = graph.request(model, GetParam());
    const std::vector<double> sequential = curve(request, {{"name", "sequential"}}, 1);
    const std::string what = GetParam() + " " + model.dump() + " ";
    for (const char* strategy : {"snapshot", "pss", "scattered"})
      expect_same(curve(request, {{"name", strategy}}, 3), sequential, what + strategy);
    expect_same(curve(request, {{"name", "vertex"}, {"partitioner", "hash"}}, 4), sequential, what + "vertex");
    expect_same(curve(request, {{"name", "snapshot_groups"}, {"group_size", 2}}, 4), sequential, what + "groups");
    expect_same(curve(request, {{"name", "scattered"}}, 7), sequential, what + "scattered");
  }
}

TEST_P(PresenceLaw, BlocksGiveTheSequentialCurve) {
  unsigned seed = 20;
  for (const Json& model : present_models()) {
    const ComingsAndGoings graph(++seed);
    Json request = graph.request(model, GetParam());
    const std::vector<double> sequential = curve(request, {{"name", "sequential"}}, 1);
    request["nb"] = "3";
    const std::string what = GetParam() + " nb=3 " + model.dump() + " ";
    expect_same(curve(request, {{"name", "sequential"}}, 1), sequential, what + "sequential");
    for (const char* strategy : {"snapshot", "pss", "scattered"})
      expect_same(curve(request, {{"name", strategy}}, 2), sequential, what + strategy);
    expect_same(curve(request, {{"name", "vertex"}, {"partitioner", "hash"}}, 3), sequential, what + "vertex");
  }
}

TEST_P(PresenceLaw, ChangesWhatIsLearnt) {
  const ComingsAndGoings graph(40);
  for (const char* model : {"tm-gcn", "t-gcn", "dysat", "evolve-gcn-h"}) {
    const auto with = curve(graph.request({{"name", model}}, GetParam()), {{"name", "sequential"}}, 1);
    const auto without = curve(graph.request({{"name", model}}, "all"), {{"name", "sequential"}}, 1);
    EXPECT_GT(std::abs(with.back() / without.back() - 1), 1e-6) << model;
  }
}

TEST_P(PresenceLaw, OverlapsAndCountsAsASimulatedRunDoes) {
  const ComingsAndGoings graph(41);
  for (const char* model : {"tm-gcn", "t-gcn", "dysat"}) {
    Json request = graph.request({{"name", model}}, GetParam());
    const auto sequential = curve(request, {{"name", "sequential"}}, 1);
    request["device"] = "sim";
    request["numerics"] = "cpu";
    expect_same(curve(request, {{"name", "scattered"}}, 3), sequential, model);
    request["numerics"] = "none";
    curve(request, {{"name", "scattered"}}, 3);
    request = graph.request({{"name", model}}, GetParam());
    request["overlap"] = 2;
    expect_same(curve(request, {{"name", "snapshot"}}, 2), sequential, model);
  }
}

TEST_P(PresenceLaw, RefusesWhatNeedsWholeSteps) {
  const ComingsAndGoings graph(42);
  const auto pointer = [&](const char* key, const Json& value) {
    Json request = graph.request({{"name", "tm-gcn"}}, GetParam());
    request[key] = value;
    try {
      curve(request, {{"name", "snapshot"}}, 2);
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find("presence=all"), std::string::npos) << error.what();
      return error.where();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(pointer("transfer", "difference"), "/transfer");
}

INSTANTIATE_TEST_SUITE_P(Values, PresenceLaw, testing::Values("seen", "lifetime", "active"),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace strobe
