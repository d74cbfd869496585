// Chunk fusion: with every grouping of chunks, the curve is the sequential one. The rows that stages load and pad are
// those of the plan and of a simulated run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cpu/register_bytes.hpp"
#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/row/row.hpp"
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

constexpr double kib_of_fusion = 1.0 / (1024 * 1024);
constexpr const char* fusions[] = {"none", "spatial", "temporal", "both"};

Json fused(const std::string& fusion, const std::string& max_cells = "12", double gib = 0) {
  return {{"name", "chunk"}, {"max_cells", max_cells}, {"fusion", fusion}, {"fusion_gib", gib}};
}

Json uniform_case(const Json& model, std::int64_t seed, const Json& strategy, std::int64_t ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 29}, {"steps", 8}, {"density", 2.0}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"seed", seed},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "sgd"}, {"rate", 0.1}}},
          {"precision", "fp64"}};
}

void expect_planned(const Json& request, const CaseResult& result) {
  const StageRows planned = planned_stage_rows(*test::full_batch_plan(case_from_json(request, "")));
  const StageRows found = rows_counted(result);
  EXPECT_EQ(found.loaded_bytes, planned.loaded_bytes) << request.dump();
  EXPECT_EQ(found.bin_rows, planned.bin_rows) << request.dump();
  EXPECT_EQ(found.filled_rows, planned.filled_rows) << request.dump();
}

/// Models of every kind of timeline, and options that change the computation of stages.
std::vector<Json> fused_models() {
  return {{{"name", "t-gcn"}},
          {{"name", "t-gcn"}, {"gcn_layers", 3}, {"precompute", false}},
          {{"name", "mpnn-lstm"}},
          {{"name", "mpnn-lstm"}, {"batch_norm", false}, {"dropout", 0.3}},
          {{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}},
          {{"name", "dysat"}},
          {{"name", "dysat"}, {"structural_dropout", 0.2}, {"temporal_dropout", 0.4}},
          {{"name", "tm-gcn"}},
          {{"name", "tm-gcn"}, {"pairs", 2}, {"window", 3}, {"precompute", false}},
          {{"name", "cd-gcn"}},
          {{"name", "evolve-gcn-o"}},
          {{"name", "evolve-gcn-o"}, {"backpropagation", "detached"}, {"precompute", false}},
          {{"name", "evolve-gcn-h"}},
          {{"name", "evolve-gcn-h"}, {"mask", "linked"}, {"precompute", false}}};
}

TEST(ChunkFusionLaw, EveryFusionGivesTheSequentialCurve) {
  std::int64_t seed = 0;
  for (const Json& model : fused_models()) {
    const CaseResult sequential = fused_run(uniform_case(model, ++seed, {{"name", "sequential"}}, 1));
    for (const char* fusion : fusions) {
      for (const std::int64_t ranks : {1, 2, 3}) {
        const Json request = uniform_case(model, seed, fused(fusion), ranks);
        const CaseResult result = fused_run(request);
        expect_curve_of(result, sequential, 1e-10, request.dump());
        expect_planned(request, result);
      }
    }
  }
}

TEST(ChunkFusionLaw, HoldsForCellsThatComeAndGo) {
  unsigned seed = 40;
  for (const char* model : {"t-gcn", "mpnn-lstm", "dysat", "tm-gcn", "evolve-gcn-o"}) {
    const test::ComingsAndGoings graph(++seed);
    for (const char* presence : {"all", "seen", "active"}) {
      Json request = graph.request({{"name", model}}, presence);
      request["strategy"] = {{"name", "sequential"}}, request["ranks"] = 1;
      const CaseResult sequential = fused_run(request);
      for (const char* fusion : fusions) {
        for (const std::int64_t ranks : {1, 2, 3}) {
          request["strategy"] = fused(fusion, "9"), request["ranks"] = ranks;
          const CaseResult result = fused_run(request);
          expect_curve_of(result, sequential, 1e-10, request.dump());
          expect_planned(request, result);
        }
      }
    }
  }
}

TEST(ChunkFusionLaw, MemoryLimitsWhatIsFused) {
  const Json model{{"name", "dysat"}};
  const CaseResult sequential = fused_run(uniform_case(model, 3, {{"name", "sequential"}}, 1));
  std::set<std::size_t> counts;
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
  for (const double kib : {0.5, 4.0, 8.0, 16.0, 1000.0}) {
    for (const char* fusion : {"spatial", "both"}) {
      const Json request = uniform_case(model, 3, fused(fusion, "9", kib / (1024 * 1024)), 2);
      const CaseResult result = fused_run(request);
      expect_curve_of(result, sequential, 1e-10, request.dump());
      expect_planned(request, result);
      if (std::string(fusion) == "spatial") continue;
      const auto plan = test::full_batch_plan(case_from_json(request, ""));
      counts.insert(plan->fusion->unit_count());
      EXPECT_LE(rows_counted(result).loaded_bytes, before) << kib;
      before = rows_counted(result).loaded_bytes;
    }
  }
  EXPECT_GE(counts.size(), 3u);
  EXPECT_EQ(*counts.begin(), 2u);  // all chunks of each rank together
}

TEST(ChunkFusionLaw, FusedChunksAreTheProgramWithoutChunks) {
  // One unit for each rank: the same operations as in the walk without units.
  const Json request = uniform_case({{"name", "mpnn-lstm"}}, 5, fused("both"), 1);
  const Json sequential = uniform_case({{"name", "mpnn-lstm"}}, 5, {{"name", "sequential"}}, 1);
  EXPECT_EQ(fused_run(request).loss.per_epoch, fused_run(sequential).loss.per_epoch);
}

TEST(ChunkFusionLaw, LoadsLeastAndFillsUpLeastWhenAllIsFused) {
  unsigned seed = 70;
  for (const char* model : {"t-gcn", "dysat"}) {
    const test::ComingsAndGoings graph(++seed);
    std::map<std::string, StageRows> rows;
    for (const char* fusion : fusions) {
      Json request = graph.request({{"name", model}}, "active");
      request["strategy"] = fused(fusion, "9"), request["ranks"] = 2;
      rows[fusion] = rows_counted(fused_run(request));
    }
    EXPECT_GT(rows["none"].loaded_bytes, rows["spatial"].loaded_bytes) << model;
    EXPECT_EQ(rows["none"].loaded_bytes, rows["temporal"].loaded_bytes) << model;
    EXPECT_EQ(rows["both"].loaded_bytes, rows["spatial"].loaded_bytes) << model;
    // Both have the same pieces, padded or packed. Small chunks have other pieces, with little padding.
    EXPECT_GT(rows["spatial"].padded_share(), rows["both"].padded_share() + 0.05) << model;
    EXPECT_EQ(rows["temporal"].filled_rows, rows["both"].filled_rows) << model;
  }
}

/// The weights after one step of SGD: the common start weights minus the gradient times the rate.
std::vector<double> stepped_weights(Json request) {
  request["epochs"] = 1, request["warmup"] = 0;
  request["optimizer"] = {{"name", "sgd"}, {"rate", 0.5}};
  const auto path = std::filesystem::temp_directory_path() / ("strobe-fusion-" + std::to_string(getpid()));
  ModelOutputs outputs;
  outputs.weights = path.string();
  EXPECT_EQ(run_case(case_from_json(request, ""), nullptr, outputs).status, "ok") << request.dump();
  std::vector<double> weights;
  for (const SavedMatrix& matrix : read_safetensors(path.string()))
    weights.insert(weights.end(), matrix.values.begin(), matrix.values.end());
  std::filesystem::remove(path);
  return weights;
}

TEST(ChunkFusionLaw, GradientsAreThoseOfTheSequentialRun) {
  unsigned seed = 80;
  for (const Json& model : fused_models()) {
    const test::ComingsAndGoings graph(++seed);
    Json request = graph.request(model, "seen");
    request["strategy"] = {{"name", "sequential"}}, request["ranks"] = 1;
    const std::vector<double> sequential = stepped_weights(request);
    for (const char* fusion : fusions) {
      request["strategy"] = fused(fusion, "9"), request["ranks"] = 2;
      const std::vector<double> weights = stepped_weights(request);
      ASSERT_EQ(weights.size(), sequential.size());
      for (std::size_t i = 0; i < weights.size(); ++i)
        ASSERT_NEAR(weights[i], sequential[i], 1e-12 * (1 + std::abs(sequential[i]))) << request.dump() << " " << i;
    }
  }
}

TEST(ChunkFusionLaw, RowsOfUnitsAreTheSameBits) {
  for (const Json& model : {Json{{"name", "t-gcn"}}, Json{{"name", "mpnn-lstm"}}, Json{{"name", "dysat"}},
                            Json{{"name", "tm-gcn"}}, Json{{"name", "evolve-gcn-o"}}}) {
    std::map<std::string, std::vector<double>> embeddings;
    for (const char* fusion : fusions) {
      Json request = uniform_case(model, 9, fused(fusion), 2);
      embeddings[fusion] = embeddings_of(request);
    }
    for (const std::string fusion : {"none", "spatial", "temporal"}) {
      // Attention over time rounds differently for different numbers of lanes. So does the convolution of T-GCN for
      // other units, with registers of 32 bytes.
      const bool narrow = cpu_register_bytes() < 64 && model.at("name") == "t-gcn";
      const bool other_order = (narrow && fusion != "spatial") || (model.at("name") == "dysat" && fusion != "temporal");
      ASSERT_EQ(embeddings[fusion].size(), embeddings["both"].size());
      for (std::size_t i = 0; i < embeddings["both"].size(); ++i)
        ASSERT_NEAR(embeddings[fusion][i], embeddings["both"][i], other_order ? 1e-14 : 0) << model.dump() << fusion;
    }
  }
}

TEST(ChunkFusionLaw, SimulatedRunsCountTheSame) {
  for (const char* model : {"t-gcn", "mpnn-lstm", "dysat", "tm-gcn", "evolve-gcn-o"}) {
    for (const char* fusion : fusions) {
      Json request = uniform_case({{"name", model}}, 4, fused(fusion), 3);
      const CaseResult real = fused_run(request);
      request["device"] = "sim", request["cluster"] = "aimos-v100";
      const CaseResult shapes = fused_run(request);
      request["numerics"] = "cpu";
      const CaseResult computed = fused_run(request);
      expect_curve_of(computed, real, 1e-12, request.dump());
      for (const CaseResult* simulated : {&shapes, &computed}) {
        EXPECT_EQ(rows_counted(*simulated).loaded_bytes, rows_counted(real).loaded_bytes) << request.dump();
        EXPECT_EQ(rows_counted(*simulated).filled_rows, rows_counted(real).filled_rows) << request.dump();
        for (const Traffic traffic : {Traffic::halo, Traffic::state, Traffic::gradient})
          EXPECT_EQ(test::epoch_bytes(*simulated, traffic), test::epoch_bytes(real, traffic)) << request.dump();
      }
    }
  }
}

TEST(ChunkFusionLaw, UnitsMoveWhatTheyReadToTheDevice) {
  std::map<std::string, std::uint64_t> moved;
  for (const char* fusion : {"none", "both"}) {
    Json request = uniform_case({{"name", "dysat"}}, 4, fused(fusion), 2);
    request["device"] = "sim", request["cluster"] = "aimos-v100";
    for (const EpochSample& sample : fused_run(request).samples)
      if (sample.epoch == 1) moved[fusion] += sample.transfer_bytes;
  }
  EXPECT_GT(moved["none"], moved["both"]);
}

TEST(ChunkFusionLaw, GoesWithStaleRowsOfThresholdZero) {
  for (const char* model : {"t-gcn", "dysat"}) {
    const CaseResult sequential = fused_run(uniform_case({{"name", model}}, 6, {{"name", "sequential"}}, 1));
    for (const char* fusion : fusions) {
      Json strategy = fused(fusion);
      strategy["stale"] = "static", strategy["stale_theta"] = 0.0;
      const Json request = uniform_case({{"name", model}}, 6, strategy, 3);
      expect_curve_of(fused_run(request), sequential, 1e-10, request.dump());
    }
  }
}

TEST(ChunkFusionLaw, RowsTellWhatFusionCameTo) {
  Json request = uniform_case({{"name", "t-gcn"}}, 4, fused("none"), 2);
  request["memory_limit_gib"] = 0.5;
  const Case c = case_from_json(request, "");
  const CaseResult result = run_case(c);
  const Row row = summarise(case_to_json(c), "case", result);
  const auto plan = test::full_batch_plan(c);
  EXPECT_EQ(row.facts.at("fusion_units").get<std::vector<std::int64_t>>(), plan->fusion->units_per_rank);
  EXPECT_EQ(row.facts.at("loaded_bytes"), planned_stage_rows(*plan).loaded_bytes);
  EXPECT_DOUBLE_EQ(row.facts.at("padded_share").get<double>(), planned_stage_rows(*plan).padded_share());
  const auto most = std::max(row.peak_bytes->host[0], row.peak_bytes->host[1]);
  EXPECT_DOUBLE_EQ(row.device_memory_share, static_cast<double>(most) / (512.0 * 1024 * 1024));
  const Json described = describe(*plan).at("fusion");
  EXPECT_EQ(described.at("loaded_bytes_per_pass").get<std::uint64_t>(), row.facts.at("loaded_bytes"));
  EXPECT_EQ(described.at("units_per_rank").get<std::vector<std::int64_t>>(),
            row.facts.at("fusion_units").get<std::vector<std::int64_t>>());

  request["strategy"] = {{"name", "vertex"}};
  const Case other = case_from_json(request, "");
  const Row without = summarise(case_to_json(other), "case", run_case(other));
  EXPECT_EQ(without.facts.count("loaded_bytes"), 0u);
  EXPECT_EQ(without.absent.at("/padded_share"), "the strategy has no chunks");
}

std::string fusion_refusal(const Json& request) {
  try {
    run_case(case_from_json(request, ""));
  } catch (const InvalidRequest& error) {
    return error.where() + ": " + error.what();
  }
  return "not refused";
}

TEST(ChunkFusionLaw, RefusesWhatUnitsDoNotGoWith) {
  const auto says = [](const Json& request, const std::string& where, const std::string& words) {
    const std::string text = fusion_refusal(request);
    EXPECT_EQ(text.rfind(where, 0), 0u) << text;
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  for (const Json& model : {Json{{"name", "dcrnn"}}, Json{{"name", "t-gcn"}, {"conv", "xh"}}})
    says(uniform_case(model, 1, fused("none"), 2), "/strategy/fusion", "step by step");
  says(uniform_case({{"name", "dcrnn"}}, 1, fused("both", "12", kib_of_fusion), 2), "/strategy/fusion",
       "use fusion=both without fusion_gib");
  Json overlap = uniform_case({{"name", "t-gcn"}}, 1, fused("none"), 2);
  overlap["overlap"] = 2;
  says(overlap, "/overlap", "set overlap=1, or use fusion=both");
  says(uniform_case({{"name", "t-gcn"}}, 1, fused("half"), 2), "/strategy/fusion", "spatial");
  says(uniform_case({{"name", "t-gcn"}}, 1, fused("both", "12", -1), 2), "/strategy/fusion_gib", "0");
}

}  // namespace
}  // namespace strobe
