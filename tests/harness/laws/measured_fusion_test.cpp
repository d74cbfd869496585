// Fusion by the measured memory of chunks: the curve stays the same, and units keep the limit when they are measured
// again. Units are smaller when planned bytes would exceed the limit.
#include "harness/full_batch/plan/measured_fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/request/case.hpp"
#include "harness/run/fusion_profile.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

constexpr double one_kib = 1.0 / (1024 * 1024);  // in GiB

Json merged(const std::string& fusion, const std::string& memory, double gib) {
  return {{"name", "chunk"}, {"max_cells", "9"}, {"fusion", fusion}, {"fusion_gib", gib}, {"fusion_memory", memory}};
}

Json measured_case(const Json& model, std::int64_t seed, const Json& strategy, std::int64_t ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 31}, {"steps", 7}, {"density", 2.0}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"seed", seed},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "sgd"}, {"rate", 0.1}}},
          {"precision", "fp64"}};
}

CaseResult measured_run(const Json& request) {
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

std::int64_t units_in_all(const CaseResult& result) {
  std::int64_t sum = 0;
  for (const std::int64_t units : result.facts.get<std::vector<std::int64_t>>("fusion_units")) sum += units;
  return sum;
}

std::uint64_t peak_of(const CaseResult& result) {
  std::uint64_t most = 0;
  for (const EpochSample& sample : result.samples) most = std::max(most, sample.peak_host_bytes);
  return most;
}

/// The largest memory of each unit and each rank in an epoch of `plan`: [P][units], [P].
struct UnitsMeasured {
  std::vector<std::vector<std::uint64_t>> units;
  std::vector<std::uint64_t> ranks;
  std::uint64_t largest() const {
    std::uint64_t most = 0;
    for (const auto& of_rank : units)
      for (const std::uint64_t bytes : of_rank) most = std::max(most, bytes);
    return most;
  }
};

UnitsMeasured measure_units(const FullBatchPlan& plan) {
  UnitsMeasured found{std::vector<std::vector<std::uint64_t>>(plan.ranks()), std::vector<std::uint64_t>(plan.ranks())};
  const auto& comm = CommunicatorRegistry::instance().find(plan.request.comm, "/comm").value;
  comm.launch(launch_request(plan.request), [&](Device& device, Communicator& communicator) {
    const std::size_t rank = device.rank();
    {
      FullBatchTrainer trainer(plan, device, communicator);
      trainer.epoch(0);
      found.ranks[rank] = device.peak_bytes();
    }
    UnitMeter meter;
    FullBatchTrainer trainer(plan, device, communicator);
    trainer.measure_units(meter);
    trainer.epoch(0);
    found.units[rank] = meter.bytes();
  });
  return found;
}

std::vector<Json> measured_models() {
  return {
      {{"name", "t-gcn"}}, {{"name", "mpnn-lstm"}}, {{"name", "dysat"}}, {{"name", "tm-gcn"}}, {{"name", "cd-gcn"}}};
}

TEST(MeasuredFusion, GivesTheSequentialCurveAtEveryLimit) {
  std::int64_t seed = 10;
  for (const Json& model : measured_models()) {
    const CaseResult sequential = measured_run(measured_case(model, ++seed, {{"name", "sequential"}}, 1));
    for (const char* fusion : {"spatial", "both"}) {
      for (const double limit : {4 * one_kib, 24 * one_kib, 1000 * one_kib}) {
        const Json request = measured_case(model, seed, merged(fusion, "measured", limit), 1 + seed % 3);
        const CaseResult result = measured_run(request);
        ASSERT_EQ(result.loss.per_epoch.size(), sequential.loss.per_epoch.size());
        for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(result.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1.0, 1e-10) << request.dump();
      }
    }
  }
}

TEST(MeasuredFusion, HoldsForCellsThatComeAndGo) {
  unsigned seed = 400;
  for (const char* model : {"t-gcn", "dysat", "evolve-gcn-o", "evolve-gcn-h"}) {
    const test::ComingsAndGoings graph(++seed);
    Json request = graph.request({{"name", model}}, "active");
    request["strategy"] = {{"name", "sequential"}}, request["ranks"] = 1;
    const CaseResult sequential = measured_run(request);
    request["ranks"] = 2;
    for (const double limit : {4 * one_kib, 12 * one_kib}) {
      request["strategy"] = merged("both", "measured", limit);
      const CaseResult result = measured_run(request);
      for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1.0, 1e-10) << request.dump();
    }
  }
}

TEST(MeasuredFusion, UnitsKeepWithinTheLimitAsMeasuredAgain) {
  std::size_t merged_units = 0, planned_beyond = 0;
  for (const Json& model : measured_models()) {
    for (const std::int64_t ranks : {1, 2, 3}) {
      const auto alone = plan_chunks_alone(
          *test::full_batch_plan(case_from_json(measured_case(model, 3, merged("both", "planned", 1), ranks), "")));
      const UnitsMeasured single = measure_units(*alone);
      std::uint64_t all = 0;
      for (const auto& of_rank : single.units) all = std::accumulate(of_rank.begin(), of_rank.end(), all);
      EXPECT_GE(all, planned_stage_rows(*alone).loaded_bytes) << "less than what stages load";
      for (const double factor : {1.0, 1.7, 4.0}) {
        const auto limit = static_cast<std::uint64_t>(factor * static_cast<double>(single.largest()));
        const double gib = (static_cast<double>(limit) + 0.5) * one_kib / 1024;
        const Case planned = case_from_json(measured_case(model, 3, merged("both", "planned", gib), ranks), "");
        const Case measured = case_from_json(measured_case(model, 3, merged("both", "measured", gib), ranks), "");
        const auto plan = with_measured_fusion(make_plan(measured), launch_request(measured));
        const UnitsMeasured again = measure_units(full_batch(*plan));
        EXPECT_LE(again.largest(), limit) << model.dump() << " on " << ranks << " ranks, " << factor;
        merged_units += full_batch(*plan).fusion->unit_count() < alone->fusion->unit_count() ? 1 : 0;
        const UnitsMeasured by_plan = measure_units(*test::full_batch_plan(planned));
        planned_beyond += by_plan.largest() > limit ? 1 : 0;
        for (std::size_t r = 0; r < again.units.size(); ++r)
          EXPECT_LE(std::accumulate(again.units[r].begin(), again.units[r].end(), std::uint64_t{0}), again.ranks[r]);
      }
    }
  }
  EXPECT_GT(merged_units, 15u);
  EXPECT_GT(planned_beyond, 15u) << "planned bytes would have done";
}

TEST(MeasuredFusion, MergesLessThanPlannedBytesBetweenTheTwoLimits) {
  const Json model{{"name", "mpnn-lstm"}};
  const auto units = [&](const char* memory, double limit) {
    return units_in_all(measured_run(measured_case(model, 5, merged("both", memory, limit), 2)));
  };
  std::size_t less = 0;
  for (double limit = 1 * one_kib; limit < 600 * one_kib; limit *= 2) {
    EXPECT_GE(units("measured", limit), units("planned", limit)) << limit;
    less += units("measured", limit) > units("planned", limit) ? 1 : 0;
  }
  EXPECT_GT(less, 1u);
  EXPECT_EQ(units("measured", 1), 2);  // one for each rank
  EXPECT_EQ(units("measured", 0.01 * one_kib), units("planned", 0.01 * one_kib));
}

TEST(MeasuredFusion, LeavesNothingOfTheEpochBeforeTraining) {
  // When it ends with the same units, the run is the same to the bit, also in its bytes and metrics.
  for (const Json& model : measured_models()) {
    const CaseResult planned = measured_run(measured_case(model, 6, merged("both", "planned", 1), 2));
    const CaseResult measured = measured_run(measured_case(model, 6, merged("both", "measured", 1), 2));
    EXPECT_EQ(measured.facts.get<std::vector<std::int64_t>>("fusion_units"),
              planned.facts.get<std::vector<std::int64_t>>("fusion_units"));
    EXPECT_EQ(measured.loss.per_epoch, planned.loss.per_epoch);
    EXPECT_EQ(peak_of(measured), peak_of(planned));
    ASSERT_EQ(measured.samples.size(), planned.samples.size());
    for (std::size_t i = 0; i < planned.samples.size(); ++i) {
      EXPECT_EQ(measured.samples[i].sent_bytes, planned.samples[i].sent_bytes);
      EXPECT_EQ(measured.samples[i].stage_rows.loaded_bytes, planned.samples[i].stage_rows.loaded_bytes);
    }
    for (const auto& [name, values] : planned.metrics) EXPECT_EQ(measured.metrics.at(name).per_epoch, values.per_epoch);
  }
}

TEST(MeasuredFusion, FitsWhereThePlanFits) {
  for (const Json& model : measured_models()) {
    Json request = measured_case(model, 7, merged("both", "planned", 0), 2);
    const std::uint64_t needed = peak_of(measured_run(request));
    request["memory_limit_gib"] = (static_cast<double>(needed) + 0.5) * one_kib / 1024;
    EXPECT_EQ(peak_of(measured_run(request)), needed);
    request["strategy"]["fusion_memory"] = "measured";
    EXPECT_LE(peak_of(measured_run(request)), needed) << model.dump();
  }
}

TEST(MeasuredFusion, SimulatedRunsMeasureWhatTheySimulate) {
  for (const Json& model : measured_models()) {
    Json request = measured_case(model, 8, merged("both", "measured", 60 * one_kib), 3);
    request["device"] = "sim", request["cluster"] = "aimos-v100";
    const CaseResult shapes = measured_run(request);
    request["numerics"] = "cpu";
    const CaseResult computed = measured_run(request);
    EXPECT_EQ(shapes.facts.get<std::vector<std::int64_t>>("fusion_units"),
              computed.facts.get<std::vector<std::int64_t>>("fusion_units"))
        << model.dump();
    EXPECT_EQ(shapes.notes, computed.notes);
    request["strategy"]["fusion_memory"] = "planned";
    const CaseResult planned = measured_run(request);
    EXPECT_GT(units_in_all(computed), units_in_all(planned)) << model.dump();
    for (std::size_t e = 0; e < planned.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(computed.loss.per_epoch[e] / planned.loss.per_epoch[e], 1.0, 1e-12) << model.dump();
  }
}

TEST(MeasuredFusion, RowsSayWhatWasFound) {
  const CaseResult result =
      measured_run(measured_case({{"name", "t-gcn"}}, 9, merged("both", "measured", 30 * one_kib), 2));
  const auto says = [](const std::string& note) { return note.rfind("fusion_memory=measured: chunks took ", 0) == 0; };
  EXPECT_EQ(std::count_if(result.notes.begin(), result.notes.end(), says), 1);
  const CaseResult planned =
      measured_run(measured_case({{"name", "t-gcn"}}, 9, merged("both", "planned", 30 * one_kib), 2));
  EXPECT_EQ(std::count_if(planned.notes.begin(), planned.notes.end(), says), 0);
}

TEST(MeasuredFusion, GoesWithStaleRows) {
  Json strategy = merged("spatial", "measured", 20 * one_kib);
  strategy["stale"] = "static", strategy["stale_theta"] = 0.2;
  const CaseResult result = measured_run(measured_case({{"name", "t-gcn"}}, 6, strategy, 3));
  strategy["fusion_memory"] = "planned";
  const CaseResult planned = measured_run(measured_case({{"name", "t-gcn"}}, 6, strategy, 3));
  // The policy occurs once, with the sent share. The policy of the plan before the measurement does not occur again.
  ASSERT_EQ(result.approximations.size(), planned.approximations.size());
  EXPECT_EQ(result.approximations.front(), planned.approximations.front());
  EXPECT_GT(units_in_all(result), units_in_all(planned));
}

/// Cells that come and go leave some blocks with one chunk on each rank. Those blocks are walked at once, so nothing of
/// them is measured, and the sizes of other blocks' chunks must not be taken for theirs.
TEST(MeasuredFusion, LeavesOutBlocksWithOneChunkOnEachRank) {
  std::size_t mixed = 0;
  for (unsigned seed = 500; seed < 506; ++seed) {
    const test::ComingsAndGoings graph(seed);
    for (const char* max_cells : {"4", "8", "15"}) {
      Json request = graph.request({{"name", "t-gcn"}}, "active");
      request["ranks"] = 2, request["nb"] = 8;
      request["strategy"] = merged("both", "planned", 2 * one_kib), request["strategy"]["max_cells"] = max_cells;
      const auto alone = plan_chunks_alone(*test::full_batch_plan(case_from_json(request, "")));
      const auto& blocks = alone->fusion->blocks;
      const auto several = std::count_if(blocks.begin(), blocks.end(), [](const auto& one) { return one->several(); });
      mixed += several > 0 && several < static_cast<std::ptrdiff_t>(blocks.size()) ? 1 : 0;
      const CaseResult planned = measured_run(request);
      request["strategy"]["fusion_memory"] = "measured";
      const CaseResult result = measured_run(request);
      ASSERT_EQ(result.loss.per_epoch.size(), planned.loss.per_epoch.size());
      for (std::size_t e = 0; e < planned.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / planned.loss.per_epoch[e], 1.0, 1e-10) << request.dump();
    }
  }
  EXPECT_GT(mixed, 3u) << "no block had fewer chunks than the others";
}

/// A unit that is computed again keeps less than one that is kept, and never counts what other units leave.
TEST(MeasuredFusion, CountsNoMoreForUnitsThatAreComputedAgain) {
  for (const Json& model : measured_models()) {
    Json request = measured_case(model, 4, merged("both", "planned", 1), 2);
    const UnitsMeasured kept = measure_units(*plan_chunks_alone(*test::full_batch_plan(case_from_json(request, ""))));
    request["strategy"]["rerun_units"] = true;
    const UnitsMeasured again = measure_units(*plan_chunks_alone(*test::full_batch_plan(case_from_json(request, ""))));
    for (std::size_t r = 0; r < kept.units.size(); ++r) {
      ASSERT_EQ(again.units[r].size(), kept.units[r].size());
      for (std::size_t u = 0; u < kept.units[r].size(); ++u)
        EXPECT_LE(again.units[r][u], kept.units[r][u]) << model.dump() << " rank " << r << " unit " << u;
    }
  }
}

TEST(MeasuredFusion, UnitsThatAreNotCutAreNotComputedAgain) {
  const auto noted = [](const Json& strategy) {
    const auto plan = test::full_batch_plan(case_from_json(measured_case({{"name", "t-gcn"}}, 4, strategy, 2), ""));
    return std::any_of(plan->notes.begin(), plan->notes.end(), [](const std::string& note) {
      return note.find("rerun_units has no effect") != std::string::npos;
    });
  };
  Json cut = merged("both", "planned", 4 * one_kib), whole = merged("both", "planned", 1), plain = whole;
  Json in_time = merged("spatial", "planned", 1);
  cut["rerun_units"] = whole["rerun_units"] = in_time["rerun_units"] = true;
  EXPECT_FALSE(noted(cut));
  EXPECT_FALSE(noted(plain));
  EXPECT_TRUE(noted(whole));
  EXPECT_TRUE(noted(in_time));
}

std::string measuring_refused(const Json& request, bool dry = false) {
  try {
    const Case c = case_from_json(request, "");
    if (dry)
      plan_case(c);
    else
      run_case(c);
  } catch (const InvalidRequest& error) {
    return error.where() + ": " + error.what();
  }
  return "not refused";
}

TEST(MeasuredFusion, RefusesWhereNothingCanBeMeasuredOrMerged) {
  const auto says = [](const std::string& text, const std::string& where, const std::string& words) {
    EXPECT_EQ(text.rfind(where, 0), 0u) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const Json t_gcn{{"name", "t-gcn"}};
  for (const char* fusion : {"none", "temporal"})
    says(measuring_refused(measured_case(t_gcn, 1, merged(fusion, "measured", 1), 2)), "/strategy/fusion_memory",
         "set fusion=both or spatial");
  says(measuring_refused(measured_case(t_gcn, 1, merged("both", "measured", 1), 2), true), "/strategy/fusion_memory",
       "set fusion_memory=planned");
  says(measuring_refused(measured_case(t_gcn, 1, merged("both", "measured", 0), 2)), "/strategy/fusion_memory",
       "set fusion_gib or memory_limit_gib");
  says(measuring_refused(measured_case({{"name", "dcrnn"}}, 1, merged("both", "measured", 1), 2)), "/strategy/fusion",
       "use fusion_memory=planned");
  Json overlap = measured_case(t_gcn, 1, merged("both", "measured", 1), 2);
  overlap["overlap"] = 2;
  says(measuring_refused(overlap), "/overlap", "use fusion_memory=planned");
  says(measuring_refused(measured_case(t_gcn, 1, merged("both", "guessed", 1), 2)), "/strategy/fusion_memory",
       "measured");
}

}  // namespace
}  // namespace strobe
