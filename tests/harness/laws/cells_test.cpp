// Cells of any owner: with owners drawn for each cell, every model gives the sequential curve, in rounds and segment by
// segment. Graphs are random, some ranks are idle, and some clusters are simulated. run_case fails a case whose sent
// bytes differ from the plan.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe {
namespace {

Json cells_case(const Json& model, std::int64_t seed, std::int64_t ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 37}, {"steps", 9}, {"density", 2.0}}},
          {"model", model},
          {"strategy", {{"name", ranks == 1 ? "sequential" : "scattered"}}},
          {"ranks", ranks},
          {"seed", seed},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"precision", "fp64"}};
}

CaseResult run_cells(const Json& request) {
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

void expect_curve(const CaseResult& result, const CaseResult& sequential, const std::string& what) {
  ASSERT_EQ(result.loss.per_epoch.size(), sequential.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e)
    EXPECT_NEAR(result.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1.0, 1e-10) << what << ", epoch " << e;
}

/// Every model, and options that change the walk along timelines.
std::vector<Json> walked_models() {
  std::vector<Json> models;
  for (const std::string& name : names_with<ModelTag>(&ModelTag::Value::family, "snapshots"))
    models.push_back({{"name", name}});
  models.push_back({{"name", "tm-gcn"}, {"pairs", 2}, {"window", 3}});
  models.push_back({{"name", "tm-gcn"}, {"pairs", 2}, {"m", "inverse_distance"}});
  models.push_back({{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}});
  models.push_back({{"name", "mpnn-lstm"}, {"state", "reset"}});
  models.push_back({{"name", "t-gcn"}, {"conv", "xh"}});
  models.push_back({{"name", "cd-gcn"}, {"layers", 1}});
  models.push_back({{"name", "dysat"}, {"structural_dropout", 0.2}, {"temporal_dropout", 0.4}});
  models.push_back({{"name", "dysat"}, {"scale", "sqrt_T"}, {"temporal_heads", 3}});
  return models;
}

std::vector<double> planned_losses(const Case& c, const std::shared_ptr<const FullBatchPlan>& plan) {
  const auto planned = std::make_shared<const PlannedCase>(PlannedCase{c, full_batch_schedule(plan), plan->notes});
  const CaseResult result = run_planned(planned, c);
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result.loss.per_epoch;
}

std::vector<std::uint64_t> bytes_by_traffic(const CaseResult& result) {
  std::vector<std::uint64_t> bytes;
  for (std::size_t traffic = 0; traffic < traffic_count; ++traffic)
    bytes.push_back(test::epoch_bytes(result, static_cast<Traffic>(traffic)));
  return bytes;
}

TEST(CellsOfAnyOwner, GiveTheSequentialCurve) {
  std::int64_t seed = 1;
  for (const Json& model : walked_models()) {
    const CaseResult sequential = run_cells(cells_case(model, ++seed, 1));
    for (const std::int64_t ranks : {2, 3, 4, 7})
      expect_curve(run_cells(cells_case(model, seed, ranks)), sequential, model.dump() + " r" + std::to_string(ranks));
  }
}

TEST(CellsOfAnyOwner, LeaveRanksIdle) {
  for (const char* model : {"tm-gcn", "t-gcn", "mpnn-lstm", "dysat", "dcrnn"}) {
    const CaseResult sequential = run_cells(cells_case({{"name", model}}, 5, 1));
    Json request = cells_case({{"name", model}}, 5, 4);
    request["strategy"]["idle"] = 2;
    expect_curve(run_cells(request), sequential, model);
  }
}

TEST(CellsOfAnyOwner, GoInRoundsAsSegmentBySegment) {
  for (const char* model : {"tm-gcn", "cd-gcn", "t-gcn", "mpnn-lstm", "dysat"}) {
    const Case c = case_from_json(cells_case({{"name", model}}, 3, 3), "");
    FullBatchCase whole = begin_full_batch(c, PlanUse::run);
    const auto packed = lay_out(whole, 1);
    whole.options.packs = false;
    const auto segments = lay_out(whole, 1);
    const auto is_packed = [](const FullBatchPlan& plan) {
      for (const auto& layer : plan.blocks[0].packed)
        if (layer != nullptr) return true;
      return false;
    };
    EXPECT_TRUE(is_packed(*packed)) << model;
    EXPECT_FALSE(is_packed(*segments)) << model;
    EXPECT_EQ(segments->blocks[0].segments.size(), 8u);  // the last of nine steps is only predicted
    const auto losses = [&](const std::shared_ptr<const FullBatchPlan>& plan) { return planned_losses(c, plan); };
    const auto a = losses(packed), b = losses(segments);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t e = 0; e < a.size(); ++e) EXPECT_NEAR(a[e] / b[e], 1.0, 1e-12) << model;
  }
}

TEST(CellsOfAnyOwner, SendWhatASimulatedRunSends) {
  for (const char* model : {"tm-gcn", "t-gcn", "mpnn-lstm", "dysat", "dcrnn", "evolve-gcn-h"}) {
    Json request = cells_case({{"name", model}}, 4, 3);
    const CaseResult real = run_cells(request);
    request["device"] = "sim";
    const CaseResult simulated = run_cells(request);
    request["numerics"] = "cpu";
    const CaseResult computed = run_cells(request);
    EXPECT_EQ(bytes_by_traffic(simulated), bytes_by_traffic(real)) << model;
    EXPECT_EQ(bytes_by_traffic(computed), bytes_by_traffic(real)) << model;
    for (std::size_t e = 0; e < 3; ++e)  // sums over ranks have a different order
      EXPECT_NEAR(computed.loss.per_epoch.at(e) / real.loss.per_epoch.at(e), 1.0, 1e-12) << model;
  }
}

TEST(CellsOfAnyOwner, AreWalkedBlockByBlock) {
  std::int64_t seed = 30;
  for (const Json& model : walked_models()) {
    const CaseResult sequential = run_cells(cells_case(model, ++seed, 1));
    for (const char* blocks : {"2", "3", "8"}) {
      Json request = cells_case(model, seed, 3);
      request["nb"] = blocks;
      expect_curve(run_cells(request), sequential, model.dump() + " nb=" + blocks);
      request["rerun_last"] = false;
      expect_curve(run_cells(request), sequential, model.dump() + " kept, nb=" + blocks);
    }
  }
}

}  // namespace
}  // namespace strobe
