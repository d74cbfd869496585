// Chunks that are walked in units, in blocks of steps: the curve is the sequential one, rows and bytes are as planned,
// and simulated memory is that of a real run.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cpu/register_bytes.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/harness/laws/fused_runs.hpp"
#include "tests/harness/plans.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe {
namespace {

using test::embeddings_of;
using test::expect_curve_of;
using test::fused_run;
using test::rows_counted;

constexpr double kib_of_gib = 1.0 / (1024 * 1024);

Json units_of_blocks(const std::string& fusion, double kib, const std::string& assign = "score") {
  return {
      {"name", "chunk"}, {"max_cells", "12"}, {"fusion", fusion}, {"fusion_gib", kib * kib_of_gib}, {"assign", assign}};
}

Json blocks_case(const Json& model, std::int64_t seed, const Json& strategy, std::int64_t ranks, std::int64_t blocks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 27}, {"steps", 9}, {"density", 2.0}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"nb", blocks},
          {"seed", seed},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "sgd"}, {"rate", 0.1}}},
          {"precision", "fp64"}};
}

Json judging(Json request) {
  request["strategy"] = {{"name", "sequential"}}, request["ranks"] = 1, request["nb"] = 1;
  return request;
}

std::int64_t units_planned(const Json& request) {
  return test::full_batch_plan(case_from_json(request, ""))->fusion->unit_count();
}

StageRows rows_of_blocks(const FullBatchPlan& plan, const std::vector<BlockPlan>& blocks) {
  FullBatchPlan some = plan;
  some.blocks = blocks;
  return planned_stage_rows(some);
}

/// An epoch walks every block, and before that all blocks but the last (all of them with rerun_last). With rerun_units
/// the backward pass loads the units of each block again.
void expect_planned_rows(const Json& request, const CaseResult& result) {
  const auto plan = test::full_batch_plan(case_from_json(request, ""));
  std::vector<BlockPlan> before, units;
  if (plan->blocks.size() > 1 || !plan->keeps_last_block()) before = plan->blocks;
  if (!before.empty() && plan->keeps_last_block()) before.pop_back();
  for (const BlockPlan& block : plan->blocks)
    if (plan->fusion->reruns && block.units != nullptr) units.push_back(block);
  const StageRows once = planned_stage_rows(*plan), first = rows_of_blocks(*plan, before);
  std::uint64_t again = rows_of_blocks(*plan, units).loaded_bytes;
  for (const BlockPlan& block : units) {  // a rank without units has one row offset, and runs nothing again
    const auto none = std::count(block.units->per_rank.begin(), block.units->per_rank.end(), 0);
    again -= static_cast<std::uint64_t>(none) * sizeof(std::int64_t);
  }
  const StageRows found = rows_counted(result);
  EXPECT_EQ(found.loaded_bytes, once.loaded_bytes + first.loaded_bytes + again) << request.dump();
  EXPECT_EQ(found.bin_rows, once.bin_rows + first.bin_rows) << request.dump();
  EXPECT_EQ(found.filled_rows, once.filled_rows + first.filled_rows) << request.dump();
}

std::vector<Json> models_in_blocks() {
  return {{{"name", "t-gcn"}},
          {{"name", "t-gcn"}, {"gcn_layers", 2}, {"precompute", false}},
          {{"name", "mpnn-lstm"}, {"dropout", 0.3}},
          {{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}},
          {{"name", "dysat"}},
          {{"name", "dysat"}, {"structural_dropout", 0.2}, {"temporal_dropout", 0.4}},
          {{"name", "tm-gcn"}},
          {{"name", "tm-gcn"}, {"pairs", 2}, {"window", 4}, {"precompute", false}},
          {{"name", "cd-gcn"}},
          {{"name", "evolve-gcn-o"}},
          {{"name", "evolve-gcn-h"}},
          {{"name", "evolve-gcn-h"}, {"mask", "linked"}, {"cell", "lstm"}, {"precompute", false}},
          {{"name", "evolve-gcn-h"}, {"mask", "none"}, {"gate", "none"}}};
}

/// Every model with every fusion. Ranks, blocks, memory and the assignment of chunks are drawn.
TEST(FusionInBlocks, EveryFusionGivesTheSequentialCurve) {
  const RandomStream random(31, random_purpose::test);
  std::uint64_t draw = 0;
  std::int64_t seed = 100;
  for (const Json& model : models_in_blocks()) {
    ++seed;
    const CaseResult judge = fused_run(judging(blocks_case(model, seed, {}, 1, 1)));
    for (const char* fusion : {"none", "spatial", "temporal", "both"}) {
      for (std::int64_t blocks = 1; blocks <= 3; ++blocks) {
        const auto ranks = static_cast<std::int64_t>(1 + random.below(draw++, 7));
        const double kib = random.below(draw++, 2) == 0 ? 4 : 16;
        const char* assign = random.below(draw++, 2) == 0 ? "score" : "lpt";
        Json request = blocks_case(model, seed, units_of_blocks(fusion, kib, assign), ranks, blocks);
        const CaseResult result = fused_run(request);
        expect_curve_of(result, judge, 1e-10, request.dump());
        expect_planned_rows(request, result);
        if (blocks != 1 + seed % 3) continue;  // once for each model and fusion
        request["strategy"]["rerun_units"] = true;
        EXPECT_EQ(fused_run(request).loss.per_epoch, result.loss.per_epoch) << request.dump();
      }
    }
  }
}

TEST(FusionInBlocks, HoldsForCellsThatComeAndGo) {
  unsigned seed = 140;
  for (const char* model : {"t-gcn", "mpnn-lstm", "dysat", "tm-gcn", "evolve-gcn-o", "evolve-gcn-h"}) {
    const test::ComingsAndGoings graph(++seed);
    for (const char* presence : {"seen", "active"}) {
      Json request = graph.request({{"name", model}}, presence);
      const CaseResult judge = fused_run(judging(request));
      for (const char* fusion : {"none", "spatial", "temporal", "both"}) {
        request["strategy"] = units_of_blocks(fusion, 8), request["ranks"] = 1 + seed % 4;
        request["nb"] = 2 + seed % 2;
        const CaseResult result = fused_run(request);
        expect_curve_of(result, judge, 1e-10, request.dump());
        expect_planned_rows(request, result);
      }
    }
  }
}

/// Units keep to one block, and each block's units keep to the limit. More memory never makes more units.
TEST(FusionInBlocks, MemoryLimitsTheUnitsOfEachBlock) {
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    std::int64_t before = 1 << 20;
    for (const double kib : {1.0, 4.0, 16.0, 1000.0}) {
      const Json request = blocks_case({{"name", "dysat"}}, seed, units_of_blocks("spatial", kib), 2, 3);
      const auto plan = test::full_batch_plan(case_from_json(request, ""));
      const UnitBytes bytes = bytes_of_unit(plan->model);
      ASSERT_EQ(plan->fusion->blocks.size(), 3u);
      for (const BlockPlan& block : plan->blocks) {
        const auto units = plan->fusion->of_block(static_cast<std::size_t>(&block - plan->blocks.data()));
        ASSERT_EQ(units->cells.steps(), block.steps());
        for (Rank unit = 0; unit < units->cells.ranks; ++unit) {
          std::set<std::uint32_t> chunks;
          std::int64_t entries = 0;
          for (Step t = 0; t < static_cast<Step>(block.steps()); ++t) {
            for (VertexId v = 0; v < units->cells.vertices; ++v) {
              if (units->cells.owner(v, t) != unit) continue;
              const std::int64_t step = block.first_step + t;
              chunks.insert(plan->strategy.chunks->of_cell[v * plan->data.graph->steps + step]);
              const std::size_t row = step * plan->data.graph->vertices + v;
              entries += plan->data.graph->row_offsets[row + 1] - plan->data.graph->row_offsets[row];
            }
          }
          const std::int64_t own = units->cells.rows(unit), read = halo_offsets(units->reads, unit).back();
          const bool fits = bytes.of(own + read, own, entries) <= static_cast<std::uint64_t>(kib * 1024);
          EXPECT_TRUE(fits || chunks.size() == 1) << kib << " KiB, unit " << unit;
        }
      }
      EXPECT_LE(plan->fusion->unit_count(), before) << kib;
      before = plan->fusion->unit_count();
    }
    EXPECT_EQ(before, 6) << "one unit for each rank and block";
  }
}

TEST(FusionInBlocks, RowsOfUnitsAreTheSameBits) {
  for (const char* model : {"t-gcn", "mpnn-lstm", "tm-gcn", "evolve-gcn-o", "evolve-gcn-h"}) {
    const auto of = [&](const char* fusion, double kib, std::int64_t blocks = 3) {
      return embeddings_of(blocks_case({{"name", model}}, 9, units_of_blocks(fusion, kib), 2, blocks));
    };
    const std::vector<double> whole = of("both", 1000, 1);
    for (const char* fusion : {"none", "spatial", "temporal", "both"})
      EXPECT_EQ(of(fusion, 4), whole) << model << fusion;
  }
}

TEST(FusionInBlocks, GoesWithStreamedInputsAndRerunBlocks) {
  for (const char* model : {"t-gcn", "dysat", "evolve-gcn-h"}) {
    Json request = blocks_case({{"name", model}}, 5, units_of_blocks("spatial", 6), 2, 3);
    const CaseResult judge = fused_run(request);
    for (const bool rerun : {false, true}) {
      for (const char* inputs : {"resident", "streamed"}) {
        request["rerun_last"] = rerun, request["inputs"] = inputs;
        request["strategy"]["rerun_units"] = rerun;
        const CaseResult result = fused_run(request);
        expect_curve_of(result, judge, 1e-10, request.dump());
        expect_planned_rows(request, result);
      }
    }
  }
}

/// The simulator sends, loads and holds what a real run does.
TEST(FusionInBlocks, SimulatedRunsCountAndHoldTheSame) {
  const std::string machine =
      "aimos-v100:host_memory=shared,gpu.allocation_bytes=0,gpu.stores_transpose=true,gpu.narrow_bytes=" +
      std::to_string(cpu_register_bytes());
  for (const char* model : {"t-gcn", "mpnn-lstm", "dysat", "evolve-gcn-h"}) {
    for (const char* fusion : {"none", "spatial", "both"}) {
      Json request = blocks_case({{"name", model}}, 4, units_of_blocks(fusion, 6), 3, 2);
      request["strategy"]["rerun_units"] = fusion != std::string("none");
      const CaseResult real = fused_run(request);
      request["device"] = "sim", request["cluster"] = machine;
      const CaseResult shapes = fused_run(request);
      request["numerics"] = "cpu";
      const CaseResult computed = fused_run(request);
      expect_curve_of(computed, real, 1e-10, request.dump());
      for (const CaseResult* simulated : {&shapes, &computed}) {
        EXPECT_EQ(rows_counted(*simulated).loaded_bytes, rows_counted(real).loaded_bytes) << request.dump();
        EXPECT_EQ(rows_counted(*simulated).filled_rows, rows_counted(real).filled_rows) << request.dump();
        for (const Traffic traffic : {Traffic::halo, Traffic::state, Traffic::gradient})
          EXPECT_EQ(test::epoch_bytes(*simulated, traffic), test::epoch_bytes(real, traffic)) << request.dump();
        ASSERT_EQ(simulated->samples.size(), real.samples.size());
        for (std::size_t i = 0; i < real.samples.size(); ++i)
          EXPECT_EQ(simulated->samples[i].peak_host_bytes, real.samples[i].peak_host_bytes) << request.dump();
      }
    }
  }
}

TEST(FusionInBlocks, GoesWithStaleRowsOfThresholdZero) {
  for (const char* model : {"t-gcn", "dysat"}) {
    const CaseResult judge = fused_run(judging(blocks_case({{"name", model}}, 6, {}, 1, 1)));
    for (const char* fusion : {"none", "both"}) {
      Json strategy = units_of_blocks(fusion, 6);
      strategy["stale"] = "static", strategy["stale_theta"] = 0.0;
      const Json request = blocks_case({{"name", model}}, 6, strategy, 3, 2);
      expect_curve_of(fused_run(request), judge, 1e-10, request.dump());
    }
  }
}

std::uint64_t largest_peak(const CaseResult& result) {
  std::uint64_t most = 0;
  for (const EpochSample& sample : result.samples) most = std::max(most, sample.peak_host_bytes);
  return most;
}

/// Attention over many edges: results between stages are most of what an epoch holds.
TEST(FusionInBlocks, UnitsComputedAgainTakeLessMemory) {
  const auto run_with = [](std::int64_t blocks, const Json& strategy) {
    Json request = blocks_case({{"name", "dysat"}}, 3, strategy, 1, blocks);
    request["workload"] = {{"name", "uniform"}, {"vertices", 1000}, {"steps", 16}, {"density", 20.0}};
    request["precision"] = "fp32";
    return fused_run(request);
  };
  const Json plain{{"name", "chunk"}};
  Json kept = plain, rerun = plain;
  kept["fusion_gib"] = rerun["fusion_gib"] = 512 * kib_of_gib, rerun["rerun_units"] = true;
  const std::uint64_t nothing = largest_peak(run_with(1, plain)), blocks = largest_peak(run_with(4, plain));
  EXPECT_LT(blocks, nothing);
  const CaseResult of_kept = run_with(4, kept), of_rerun = run_with(4, rerun);
  EXPECT_EQ(of_rerun.loss.per_epoch, of_kept.loss.per_epoch);
  EXPECT_LT(largest_peak(of_rerun), blocks);
  EXPECT_LT(largest_peak(of_rerun), largest_peak(of_kept));
  EXPECT_LT(largest_peak(of_rerun), largest_peak(run_with(1, rerun)));
}

TEST(FusionInBlocks, MeasuresEachBlocksChunks) {
  for (const char* model : {"t-gcn", "dysat"}) {
    const CaseResult judge = fused_run(judging(blocks_case({{"name", model}}, 7, {}, 1, 1)));
    std::set<std::int64_t> counts;
    for (const double kib : {6.0, 40.0, 1e6}) {
      Json request = blocks_case({{"name", model}}, 7, units_of_blocks("both", kib), 2, 3);
      const std::int64_t planned = units_planned(request);
      request["strategy"]["fusion_memory"] = "measured";
      const CaseResult result = fused_run(request);
      expect_curve_of(result, judge, 1e-10, request.dump());
      std::int64_t most = 0;
      for (const std::int64_t units : result.facts.get<std::vector<std::int64_t>>("fusion_units"))
        most = std::max(most, units);
      counts.insert(most);
      EXPECT_LE(most, planned + 40);
      if (kib > 1e5) {
        EXPECT_EQ(most, 1) << model;
      }
    }
    EXPECT_GT(counts.size(), 1u) << model;
  }
}

/// A case that leaves the number of blocks open gets blocks for its units, if memory asks for them.
TEST(FusionInBlocks, BlocksAreChosenForUnits) {
  Json request = blocks_case({{"name", "mpnn-lstm"}}, 8, {{"name", "chunk"}, {"fusion", "spatial"}}, 2, 1);
  request["workload"]["vertices"] = 300;
  const CaseResult one = fused_run(request);
  request["nb"] = 3;
  const CaseResult three = fused_run(request);
  ASSERT_LT(largest_peak(three), largest_peak(one));
  request["nb"] = "auto";
  request["memory_limit_gib"] = static_cast<double>(largest_peak(three) + largest_peak(one)) / 2 / (1 << 30);
  const CaseResult chosen = fused_run(request);
  const bool says = std::any_of(chosen.notes.begin(), chosen.notes.end(), [](const std::string& note) {
    return note.find("nb=auto chose") != std::string::npos && note.find("chose 1 ") == std::string::npos;
  });
  EXPECT_TRUE(says);
  expect_curve_of(chosen, one, 1e-10, "nb=auto");
}

/// The default fusion never keeps a model from running: what cannot be cut is walked together.
TEST(FusionInBlocks, DefaultFusionWalksTogetherWhatCannotBeCut) {
  std::vector<Json> requests;
  for (const Json& model : {Json{{"name", "dcrnn"}}, Json{{"name", "t-gcn"}, {"conv", "xh"}}})
    requests.push_back(blocks_case(model, 2, {{"name", "chunk"}}, 2, 2));
  requests.push_back(blocks_case({{"name", "t-gcn"}}, 2, {{"name", "chunk"}}, 2, 1));
  requests.back()["overlap"] = 2;
  for (Json& request : requests) {
    const std::string why = "all chunks of a rank are walked together, whatever the memory limit, because";
    for (const bool limited : {false, true}) {
      if (limited) request["memory_limit_gib"] = kib_of_gib;
      const auto plan = test::full_batch_plan(case_from_json(request, ""));
      EXPECT_TRUE(plan->fusion->blocks.empty());
      EXPECT_EQ(plan->fusion->units_per_rank, (std::vector<std::int64_t>{1, 1}));
      const bool noted = std::any_of(plan->notes.begin(), plan->notes.end(),
                                     [&](const std::string& note) { return note.find(why) != std::string::npos; });
      EXPECT_EQ(noted, limited) << request.dump();
    }
  }
}

}  // namespace
}  // namespace strobe
