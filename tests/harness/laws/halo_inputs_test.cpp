// halo=inputs sends the constants that the first layer reads instead of its outputs, which readers compute again: the
// same curve, fewer bytes as counted from the graph, and the share of rows that are computed twice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/run/run_case.hpp"
#include "tests/harness/plans.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe {
namespace {

Json halo_request(const Json& model, const Json& strategy, int ranks) {
  return {{"workload", {{"name", "uniform"}, {"steps", 7}, {"vertices", 60}, {"density", 3}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"seed", 5},
          {"epochs", 3},
          {"warmup", 0},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"precision", "fp64"}};
}

CaseResult trained(const Json& request) {
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

std::string halo_refusal(const Json& request) {
  try {
    plan_case(case_from_json(request, ""));
  } catch (const InvalidRequest& refusal) {
    return refusal.where() + ": " + refusal.message();
  }
  return "";
}

void expect_sequential_curve(const CaseResult& a, const CaseResult& b, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), b.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < a.loss.per_epoch.size(); ++e)
    EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, 1e-10) << what << " in epoch " << e;
}

/// Models whose first layer is computed row by row, in a joint form with the second layer and without.
std::vector<Json> models_with_such_a_layer() {
  return {{{"name", "t-gcn"}},
          {{"name", "t-gcn"}, {"gcn_layers", 3}, {"hidden", 5}},
          {{"name", "t-gcn"}, {"gates", "shared"}},
          {{"name", "evolve-gcn-o"}},
          {{"name", "mpnn-lstm"}, {"batch_norm", false}},
          {{"name", "tm-gcn"}, {"network", "selu"}}};
}

class HaloInputs : public testing::TestWithParam<int> {};

TEST_P(HaloInputs, GiveTheSequentialCurveUnderEveryStrategyWithHalos) {
  const int ranks = GetParam();
  const std::vector<Json> strategies = {{{"name", "vertex"}, {"partitioner", "hash"}},
                                        {{"name", "adt"}, {"partitioner", "range"}},
                                        {{"name", "pss"}},
                                        {{"name", "chunk"}, {"max_cells", "40"}},
                                        {{"name", "snapshot_groups"}, {"group_size", 2}},
                                        {{"name", "vertex"}, {"servers", 1}}};
  for (const Json& model : models_with_such_a_layer()) {
    const CaseResult sequential = trained(halo_request(model, {{"name", "sequential"}}, 1));
    for (Json strategy : strategies) {
      if (strategy.at("name") == "snapshot_groups" && ranks % 2 != 0) continue;
      strategy["halo"] = "inputs";
      const std::string what = model.dump() + strategy.dump();
      const CaseResult result = trained(halo_request(model, strategy, ranks));
      EXPECT_TRUE(result.exact) << what;
      expect_sequential_curve(result, sequential, what);
    }
  }
}

TEST_P(HaloInputs, GiveTheSameCurveInBlocksSlicesAndStreams) {
  const std::pair<const char*, Json> options[] = {{"nb", "3"}, {"overlap", 2}, {"inputs", "streamed"}};
  for (const Json& model : {Json{{"name", "t-gcn"}}, Json{{"name", "evolve-gcn-o"}}}) {
    const CaseResult sequential = trained(halo_request(model, {{"name", "sequential"}}, 1));
    for (const auto& [option, value] : options) {
      Json request = halo_request(model, {{"name", "vertex"}, {"halo", "inputs"}}, GetParam());
      request[option] = value;
      expect_sequential_curve(trained(request), sequential, model.dump() + option);
    }
  }
}

TEST_P(HaloInputs, GiveTheSameCurveWhereVerticesComeAndGo) {
  for (const Json& model : models_with_such_a_layer()) {
    Json request = halo_request(model, {{"name", "sequential"}}, 1);
    request["workload"] = {{"name", "ucsocial"}, {"window", "14d"}};
    request["presence"] = "active";
    const CaseResult sequential = trained(request);
    request["ranks"] = GetParam();
    for (const char* strategy : {"vertex", "chunk"}) {
      request["strategy"] = {{"name", strategy}, {"halo", "inputs"}};
      expect_sequential_curve(trained(request), sequential, model.dump() + strategy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, HaloInputs, testing::Values(2, 3, 4), testing::PrintToStringParamName());

/// Pairs of a cell and another rank that reads its row, from the graph and the owners alone.
std::int64_t rows_read_elsewhere(const PreparedGraph& graph, const Placement& placement) {
  std::set<std::tuple<Step, VertexId, Rank>> read;
  for (Step t = 0; t < graph.steps; ++t) {
    const auto& owner = placement.map(t).owner;
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + 1]; ++e) {
        const VertexId u = graph.columns[e];
        if (owner[u] != owner[v]) read.emplace(t, u, owner[v]);
      }
    }
  }
  return static_cast<std::int64_t>(read.size());
}

TEST(HaloInputsVolume, EveryRowCrossesOnceAsInputAndIsCountedAsComputedAgain) {
  const std::int64_t features = 2, hidden = 5, gates = 3;
  for (const int ranks : {2, 5}) {
    Json strategy = {{"name", "vertex"}, {"partitioner", "hash"}};
    Json request = halo_request({{"name", "t-gcn"}, {"hidden", hidden}}, strategy, ranks);
    request["epochs"] = 2;
    const auto plan = test::full_batch_plan(case_from_json(request, ""));
    const std::int64_t rows = rows_read_elsewhere(*plan->data.graph, plan->strategy.spatial);
    ASSERT_GT(rows, 0);
    const std::uint64_t outputs = test::epoch_bytes(trained(request), Traffic::halo);
    request["strategy"]["halo"] = "inputs";
    const CaseResult result = trained(request);
    const std::uint64_t inputs = test::epoch_bytes(result, Traffic::halo);
    // Outputs go and their gradients return; constants go.
    EXPECT_EQ(outputs - inputs, static_cast<std::uint64_t>(rows * (2 * gates * hidden - features)) * sizeof(double));
    const Json twice = result.facts.values.at("redundant_computation");
    EXPECT_DOUBLE_EQ(twice.get<double>(), static_cast<double>(rows) / (2.0 * 60 * 6))
        << "two layers, six training steps";
  }
}

TEST(HaloInputsVolume, AnAttentionProjectsRowsOfOthersAndTheRowSaysSo) {
  const Json request = halo_request({{"name", "dysat"}}, {{"name", "vertex"}, {"partitioner", "hash"}}, 3);
  const auto plan = test::full_batch_plan(case_from_json(request, ""));
  const std::int64_t rows = rows_read_elsewhere(*plan->data.graph, plan->strategy.spatial);
  const Json twice = trained(request).facts.values.at("redundant_computation");
  EXPECT_DOUBLE_EQ(twice.get<double>(), static_cast<double>(rows) / (60 * 6)) << "one layer, six training steps";
  const CaseResult sums = trained(halo_request({{"name", "t-gcn"}}, {{"name", "vertex"}}, 3));
  EXPECT_EQ(sums.facts.values.count("redundant_computation"), 0u);
}

TEST(HaloInputsVolume, SimulatedEqualsReal) {
  Json request = halo_request({{"name", "t-gcn"}}, {{"name", "vertex"}, {"halo", "inputs"}}, 3);
  const CaseResult real = trained(request);
  request["device"] = "sim";
  request["numerics"] = "none";
  const CaseResult simulated = trained(request);
  for (const Traffic traffic : {Traffic::halo, Traffic::gradient, Traffic::state})
    EXPECT_EQ(test::epoch_bytes(real, traffic), test::epoch_bytes(simulated, traffic));
}

TEST(HaloInputsRefusals, NameTheOption) {
  const Json vertex = {{"name", "vertex"}, {"halo", "inputs"}};
  const Json no_such_layer[] = {{{"name", "cd-gcn"}},
                                {{"name", "tm-gcn"}},
                                {{"name", "dcrnn"}},
                                {{"name", "dysat"}},
                                {{"name", "evolve-gcn-h"}},
                                {{"name", "mpnn-lstm"}},
                                {{"name", "t-gcn"}, {"gcn_layers", 1}},
                                {{"name", "t-gcn"}, {"precompute", false}}};
  for (const Json& model : no_such_layer) {
    const std::string said = halo_refusal(halo_request(model, vertex, 2));
    EXPECT_NE(said.find("/strategy/halo"), std::string::npos) << model.dump() << said;
    EXPECT_NE(said.find("leave halo out"), std::string::npos) << model.dump() << said;
  }
  EXPECT_NE(halo_refusal(halo_request({{"name", "t-gcn"}}, {{"name", "snapshot"}, {"halo", "inputs"}}, 2))
                .find("sends no rows of the first layer"),
            std::string::npos);
  const Json by_units = {{"name", "chunk"}, {"max_cells", "20"}, {"fusion", "none"}, {"halo", "inputs"}};
  EXPECT_NE(halo_refusal(halo_request({{"name", "t-gcn"}}, by_units, 2)).find("unit by unit"), std::string::npos);
}

TEST(HaloInputsRefusals, TheDefaultKeepsTheIdOfACase) {
  const Json with = halo_request({{"name", "t-gcn"}}, {{"name", "vertex"}, {"halo", "outputs"}}, 2);
  const Json without = halo_request({{"name", "t-gcn"}}, {{"name", "vertex"}}, 2);
  EXPECT_EQ(case_to_json(case_from_json(with, "")), case_to_json(case_from_json(without, "")));
}

}  // namespace
}  // namespace strobe
