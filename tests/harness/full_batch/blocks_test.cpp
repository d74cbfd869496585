// Gradient checkpointing: for every model and strategy, the timeline in blocks gives the results of one block. Bytes
// are those of the plan and of ESDG's formula, memory is smaller, and contradictory requests are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/planned_peak.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/plans.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe {
namespace {

using test::epoch_bytes;

Json base_case(const Json& model, std::int64_t vertices = 20, std::int64_t steps = 8) {
  return {{"workload", {{"name", "uniform"}, {"vertices", vertices}, {"steps", steps}, {"density", 3}}},
          {"model", model},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
          {"precision", "fp64"}};
}

CaseResult run(const Json& request, const std::string& strategy, int ranks, const std::string& nb) {
  Json full = request;
  full["strategy"]["name"] = strategy;
  full["ranks"] = ranks, full["nb"] = nb;
  const CaseResult result = run_case(case_from_json(full, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks, nb " << nb << ": " << result.reason;
  return result;
}

void expect_same(const CaseResult& a, const CaseResult& b, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), b.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < a.loss.per_epoch.size(); ++e) {
    EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, 1e-10) << what << " in epoch " << e;
  }
  for (const auto& [name, series] : b.metrics) {
    ASSERT_EQ(a.metrics.at(name).per_epoch.size(), series.per_epoch.size()) << what << name;
    EXPECT_NEAR(a.metrics.at(name).per_epoch.back(), series.per_epoch.back(), 1e-3) << what << name;
  }
}

std::uint64_t peak_bytes(const CaseResult& result) {
  std::uint64_t peak = 0;
  for (const EpochSample& sample : result.samples)
    peak = std::max({peak, sample.peak_host_bytes, sample.peak_device_bytes});
  return peak;
}

/// Training uses 7 of 8 steps: blocks of 4 and 3, of 3, 2 and 2, and of one step each.
void judge(const Json& request, const std::string& what) {
  const CaseResult whole = run(request, "sequential", 1, "1");
  ASSERT_EQ(whole.loss.per_epoch.size(), 3u);
  EXPECT_NE(whole.loss.per_epoch.back(), whole.loss.per_epoch.front()) << "nothing was learnt";
  for (const std::string& strategy : test::full_batch_strategies()) {
    for (const int ranks : {1, 2, 3}) {
      if (strategy == "sequential" && ranks > 1) continue;
      for (const std::string nb : {"2", "3", "7"}) {
        const bool by_steps = strategy == "snapshot" || strategy == "pss";
        if (by_steps && 7 / std::stoi(nb) < ranks) continue;  // refused, see BlockRequests
        const std::string name = what + "/" + strategy + "/r" + std::to_string(ranks) + "/nb" + nb;
        const CaseResult result = run(request, strategy, ranks, nb);
        if (result.exact) expect_same(result, whole, name);
      }
    }
  }
}

class Blocks : public testing::TestWithParam<std::string> {};

TEST_P(Blocks, GiveTheCurveOfTheWholeTimeline) { judge(base_case({{"name", GetParam()}}), GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, Blocks, testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(BlockVariants, ModelOptionsThatReachOverBorders) {
  for (const Json& model :
       {Json{{"name", "tm-gcn"}, {"pairs", 2}, {"window", 3}},
        Json{{"name", "tm-gcn"}, {"window", 1}, {"precompute", false}}, Json{{"name", "evolve-gcn-o"}, {"cell", "gru"}},
        Json{{"name", "evolve-gcn-o"}, {"backpropagation", "detached"}},
        Json{{"name", "evolve-gcn-h"}, {"cell", "lstm"}},
        Json{{"name", "evolve-gcn-h"}, {"backpropagation", "detached"}},
        Json{{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 2}},
        Json{{"name", "mpnn-lstm"}, {"dropout", 0.4}, {"output", "h2"}}, Json{{"name", "dysat"}, {"scale", "sqrt_T"}},
        Json{{"name", "dysat"}, {"structural_dropout", 0.3}, {"temporal_dropout", 0.5}},
        Json{{"name", "tm-gcn"}, {"m", "inverse_distance"}, {"pairs", 2}},
        Json{{"name", "tm-gcn"}, {"network", "selu"}},
        Json{{"name", "tm-gcn"}, {"network", "linear"}, {"precompute", false}},
        Json{{"name", "dcrnn"}, {"layers", 2}, {"terms", "chebyshev"}},
        Json{{"name", "dcrnn"}, {"terms", "carried"}, {"supports", "transposed"}},
        Json{{"name", "evolve-gcn-h"}, {"mask", "linked"}}, Json{{"name", "dcrnn"}, {"layers", 2}, {"state", "none"}},
        Json{{"name", "t-gcn"}, {"conv", "xh"}}}) {
    const Json request = base_case(model);
    const CaseResult whole = run(request, "sequential", 1, "1");
    expect_same(run(request, "sequential", 1, "3"), whole, model.dump() + " sequential");
    expect_same(run(request, "snapshot", 2, "3"), whole, model.dump() + " snapshot");
    expect_same(run(request, "pss", 2, "2"), whole, model.dump() + " pss");
  }
}

TEST(BlockVariants, TasksWithTestSamplesInManySteps) {
  Json request = base_case({{"name", "tm-gcn"}});
  request["task"]["name"] = "vertex-regression";
  const CaseResult whole = run(request, "sequential", 1, "1");
  expect_same(run(request, "snapshot", 2, "3"), whole, "snapshot");
  expect_same(run(request, "vertex", 3, "7"), whole, "vertex");
}

TEST(BlockVariants, LastBlockNeedNotBeComputedAgain) {
  Json request = base_case({{"name", "cd-gcn"}});
  const CaseResult whole = run(request, "snapshot", 2, "1"), again = run(request, "snapshot", 2, "2");
  request["rerun_last"] = false;
  const CaseResult once = run(request, "snapshot", 2, "2");
  expect_same(once, whole, "once");
  expect_same(again, whole, "again");
  // When both of two blocks, one of them, or none is computed again: 3, 2.5 (for 4 and 3 steps: 18 / 7) and 2 passes.
  EXPECT_EQ(epoch_bytes(again, Traffic::redistribute) * 2, epoch_bytes(whole, Traffic::redistribute) * 3);
  EXPECT_LT(epoch_bytes(once, Traffic::redistribute), epoch_bytes(again, Traffic::redistribute));
  EXPECT_GT(epoch_bytes(once, Traffic::redistribute), epoch_bytes(whole, Traffic::redistribute));
}

TEST(BlockVariants, ResidentInputsKeepTheGraphOnTheDevice) {
  Json request = base_case({{"name", "tm-gcn"}}, 200, 17);
  request["inputs"] = "resident";
  const CaseResult whole = run(request, "sequential", 1, "1"), resident = run(request, "sequential", 1, "4");
  expect_same(resident, whole, "resident");
  request["inputs"] = "streamed";
  const CaseResult streamed = run(request, "sequential", 1, "4");
  expect_same(streamed, whole, "streamed");
  EXPECT_LT(peak_bytes(streamed), peak_bytes(resident));
}

// ---- what a run leaves behind --------------------------------------------------------------------------------------

std::string scratch(const std::string& name) {
  return testing::TempDir() + "/strobe-blocks-" + std::to_string(getpid()) + name;
}

/// The numbers of an fp64 .npy file.
std::vector<double> numbers_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t header =
      bytes.size() < 10 ? bytes.size()
                        : 10 + static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  std::vector<double> values((bytes.size() - header) / sizeof(double));
  std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(double));
  return values;
}

TEST(BlockOutputs, EmbeddingsOfAllSteps) {
  Json request = base_case({{"name", "cd-gcn"}});
  const auto embeddings = [&](const std::string& strategy, int ranks, int nb) {
    request.update({{"strategy", strategy}, {"ranks", ranks}, {"nb", nb}});
    ModelOutputs outputs;
    outputs.files["embeddings"] = scratch(strategy + std::to_string(nb) + ".npy");
    EXPECT_EQ(run_case(case_from_json(request, ""), nullptr, outputs).status, "ok");
    return numbers_in(outputs.files["embeddings"]);
  };
  const std::vector<double> whole = embeddings("sequential", 1, 1);
  ASSERT_EQ(whole.size(), 7u * 20u * 6u);
  for (const auto& part : {embeddings("sequential", 1, 3), embeddings("snapshot", 2, 3), embeddings("vertex", 3, 7)}) {
    ASSERT_EQ(part.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(part[i], whole[i], 1e-9) << i;
  }
}

TEST(BlockOutputs, TrainingResumesInBlocks) {
  Json request = base_case({{"name", "tm-gcn"}});
  request.update({{"strategy", "snapshot"}, {"ranks", 2}, {"nb", 3}, {"epochs", 5}});
  const CaseResult through = run_case(case_from_json(request, ""));
  ModelOutputs outputs;
  outputs.checkpoint = scratch("checkpoint.safetensors");
  request["epochs"] = 2;
  EXPECT_EQ(run_case(case_from_json(request, ""), nullptr, outputs).status, "ok");
  outputs.resume_training = true;
  request["epochs"] = 5;
  const CaseResult resumed = run_case(case_from_json(request, ""), nullptr, outputs);
  EXPECT_EQ(resumed.status, "ok") << resumed.reason;
  EXPECT_EQ(resumed.loss.per_epoch, through.loss.per_epoch);
}

// ---- bytes ------------------------------------------------------------------------------------------------------

/// Rows that one redistribution of the whole timeline moves: each step's rows, except those that stay with its owner.
std::uint64_t moved_rows(std::int64_t n, std::int64_t t, std::int64_t p, std::int64_t nb) {
  std::int64_t rows = 0;
  for (std::int64_t b = 0; b < nb; ++b) {
    for (std::int64_t r = 0; r < p; ++r) {
      rows += even_share(even_share(t, nb, b).count, p, r).count * (n - even_share(n, p, r).count);
    }
  }
  return static_cast<std::uint64_t>(rows);
}

struct Volume {
  std::int64_t n, t, p, nb;
};

TEST(BlockBytes, SnapshotPartitioningSendsTheVolumeOfThePaper) {
  // ESDG Table 2 (decisions section 1): 3 S N T (P - 1) / P floats, S = 12 for TM-GCN and 32 for CD-GCN. When P does
  // not divide N or T, each step's owner keeps its n vertices: 3 S times the sum over ranks of steps (N - n).
  for (const Volume& v : {Volume{64, 12, 4, 3}, Volume{64, 24, 8, 3}, Volume{30, 20, 3, 4}, Volume{61, 23, 4, 3},
                          Volume{17, 11, 5, 2}, Volume{101, 16, 7, 2}, Volume{13, 9, 2, 4}, Volume{40, 10, 1, 5}}) {
    for (const auto& [model, widths] : {std::pair<const char*, std::uint64_t>{"tm-gcn", 12}, {"cd-gcn", 32}}) {
      Json request = base_case({{"name", model}}, v.n, v.t + 1);
      request["precision"] = "fp32";
      request["strategy"]["name"] = "snapshot";
      request["ranks"] = v.p;
      request["nb"] = v.nb;
      const auto plan = test::full_batch_plan(case_from_json(request, ""));
      const std::uint64_t planned = plan->planned_bytes[Traffic::redistribute];
      EXPECT_EQ(planned, 4 * 3 * widths * moved_rows(v.n, v.t, v.p, v.nb)) << model << v.n << " " << v.t << " " << v.p;
      if (v.n % v.p != 0 || v.t % (v.p * v.nb) != 0) continue;
      const auto n = static_cast<std::uint64_t>(v.n), t = static_cast<std::uint64_t>(v.t);
      const std::uint64_t p = v.p;
      EXPECT_EQ(planned, 4 * 3 * widths * n * t * (p - 1) / p);
    }
  }
}

TEST(BlockBytes, SentAreThePlannedOnesForRealAndSimulated) {
  for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-h", "dysat", "dcrnn"}) {
    for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
      Json real = base_case({{"name", model}}, 30, 10);
      real["epochs"] = 1;
      Json simulated = real;
      simulated["device"] = "sim";
      simulated["cluster"] = "aimos-v100";
      // run_case fails a case whose bytes differ from the plan.
      const CaseResult a = run(real, strategy, 3, "3"), b = run(simulated, strategy, 3, "3");
      for (int traffic = 0; traffic < traffic_count; ++traffic) {
        EXPECT_EQ(epoch_bytes(a, static_cast<Traffic>(traffic)), epoch_bytes(b, static_cast<Traffic>(traffic)))
            << model << strategy << traffic_names[traffic];
      }
      EXPECT_EQ(b.time_source, "virtual");
    }
  }
}

TEST(BlockBytes, ValuesDoNotChangeTheSimulatedProgram) {
  Json shapes = base_case({{"name", "cd-gcn"}}, 40, 13);
  shapes["device"] = "sim";
  shapes["cluster"] = "aimos-v100";
  Json values = shapes;
  values["numerics"] = "cpu";
  for (const std::string strategy : {"snapshot", "vertex"}) {
    const CaseResult a = run(shapes, strategy, 2, "3"), b = run(values, strategy, 2, "3");
    ASSERT_EQ(a.samples.size(), b.samples.size());
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
      EXPECT_EQ(a.samples[i].epoch_seconds, b.samples[i].epoch_seconds) << strategy << " sample " << i;
      EXPECT_EQ(a.samples[i].peak_device_bytes, b.samples[i].peak_device_bytes);
      EXPECT_EQ(a.samples[i].transfer_bytes, b.samples[i].transfer_bytes);
    }
  }
}

// ---- memory -----------------------------------------------------------------------------------------------------

TEST(BlockMemory, PeakFallsWithTheNumberOfBlocks) {
  for (const std::string model : {"tm-gcn", "cd-gcn"}) {
    for (const auto& [strategy, ranks] : {std::pair<const char*, int>{"sequential", 1}, {"snapshot", 2}}) {
      Json request = base_case({{"name", model}}, 500, 33);
      request["precision"] = "fp32";
      std::vector<std::uint64_t> peaks;
      for (const std::string nb : {"1", "2", "4", "8"}) {
        peaks.push_back(peak_bytes(run(request, strategy, ranks, nb)));
        RecordProperty(model + std::string("_") + strategy + "_nb" + nb, std::to_string(peaks.back()));
      }
      for (std::size_t i = 1; i < peaks.size(); ++i) EXPECT_LT(peaks[i], peaks[i - 1]) << model << strategy << i;
      EXPECT_LT(peaks[3] * 3, peaks[0]) << model << strategy;
    }
  }
}

TEST(BlockMemory, AttentionKeepsEarlierStepsOnce) {
  // 40 steps in blocks of one: copies of all earlier steps for each block would be 20 times the timeline. The last
  // block reads the keys and values of all steps, so blocks cannot save memory with this model.
  Json request = base_case({{"name", "dysat"}}, 100, 41);
  const std::uint64_t whole = peak_bytes(run(request, "sequential", 1, "1"));
  const std::uint64_t blocks = peak_bytes(run(request, "sequential", 1, "40"));
  EXPECT_LT(blocks, 2 * whole);
}

TEST(BlockMemory, PlannedPeakIsTheMeasuredOne) {
  for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-h", "mpnn-lstm"}) {
    for (const std::string nb : {"1", "3"}) {
      Json request = base_case({{"name", model}}, 60, 13);
      request["strategy"]["name"] = "snapshot";
      request["ranks"] = 2;
      request["nb"] = nb;
      const Case real = case_from_json(request, "");
      EXPECT_EQ(planned_peak(*make_plan(real)).bytes, peak_bytes(run_case(real))) << model << nb << " cpu";
      request["device"] = "sim";
      request["cluster"] = "aimos-v100";
      const Case simulated = case_from_json(request, "");
      EXPECT_EQ(planned_peak(*make_plan(simulated)).bytes, peak_bytes(run_case(simulated))) << model << nb << " sim";
    }
  }
}

TEST(BlockMemory, AutoTakesTheLargestBlockThatFits) {
  Json request = base_case({{"name", "tm-gcn"}}, 300, 25);
  const auto peak = [&](const std::string& nb) {
    Json fixed = request;
    fixed["nb"] = nb;
    return static_cast<double>(planned_peak(*make_plan(case_from_json(fixed, ""))).bytes) / (1 << 30);
  };
  request["memory_limit_gib"] = peak("4");
  request["nb"] = "auto";
  const auto plan = test::full_batch_plan(case_from_json(request, ""));
  EXPECT_EQ(plan->blocks.size(), 4u);
  EXPECT_GT(peak("3"), request["memory_limit_gib"].get<double>());
  const std::vector<std::string> notes = make_plan(case_from_json(request, ""))->notes;
  ASSERT_EQ(notes.size(), 2u);  // how negatives are drawn, and
  EXPECT_NE(notes[1].find("4 blocks"), std::string::npos) << notes[1];
  EXPECT_EQ(run(request, "sequential", 1, "auto").status, "ok");
  request["memory_limit_gib"] = 1.0;
  EXPECT_EQ(test::full_batch_plan(case_from_json(request, ""))->blocks.size(), 1u);
}

TEST(BlockMemory, ACaseThatDoesNotFitWholeFitsInBlocks) {
  Json request = base_case({{"name", "cd-gcn"}}, 300, 25);
  const CaseResult whole = run(request, "sequential", 1, "1");
  request["memory_limit_gib"] = static_cast<double>(peak_bytes(whole)) / (1 << 30) / 2;
  request["nb"] = "1";
  EXPECT_EQ(run_case(case_from_json(request, "")).status, "out_of_memory");
  expect_same(run(request, "sequential", 1, "auto"), whole, "auto");
}

// ---- requests ---------------------------------------------------------------------------------------------------

void refused(Json request, const Json& change, const std::string& where, const std::string& text) {
  request.update(change);
  try {
    test::full_batch_plan(case_from_json(request, ""));
    ADD_FAILURE() << change.dump() << " was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), where) << change.dump();
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message();
  }
}

TEST(BlockRequests, ImpossibleOnesAreRefused) {
  const Json request = base_case({{"name", "tm-gcn"}});
  refused(request, {{"nb", 0}}, "/nb", "of at least 1");
  refused(request, {{"nb", "-2"}}, "/nb", "of at least 1");
  refused(request, {{"nb", "many"}}, "/nb", "many");
  refused(request, {{"nb", 8}}, "/nb", "7 steps");
  refused(request, {{"nb", "auto"}}, "/nb", "memory_limit_gib");
  refused(request, {{"nb", "auto"}, {"memory_limit_gib", 1e-6}}, "/memory_limit_gib", "no number of blocks");
  refused(request, {{"nb", 3}, {"ranks", 3}, {"strategy", "snapshot"}}, "/nb", "fewer than 3 ranks");
  refused(request, {{"nb", 3}, {"ranks", 3}, {"strategy", "pss"}}, "/nb", "fewer than 3 ranks");
}

TEST(BlockRequests, BlocksAndTheirOwnersAreEven) {
  const std::vector<strobe::Run> blocks = even_blocks(7, 3);
  EXPECT_EQ(blocks, (std::vector<strobe::Run>{{0, 3}, {3, 2}, {5, 2}}));
  EXPECT_EQ(step_owners(blocks, 2), (std::vector<Rank>{0, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(useful_block_counts(7), (std::vector<std::int64_t>{1, 2, 3, 4, 7}));
}

TEST(BlockRequests, NumbersAndTextsAreTheSameCase) {
  Json request = base_case({{"name", "tm-gcn"}});
  request["nb"] = 3;
  const Case number = case_from_json(request, "");
  request["nb"] = "3";
  EXPECT_EQ(case_id(number), case_id(case_from_json(request, "")));
  EXPECT_EQ(case_to_json(number).at("nb"), "3");
}

TEST(BlockRequests, DryRunListsTheBlocks) {
  Json request = base_case({{"name", "tm-gcn"}});
  request.update({{"nb", 3}, {"strategy", "snapshot"}, {"ranks", 2}});
  const Json report = plan_case(case_from_json(request, ""));
  EXPECT_EQ(report.at("schedule").at("kind"), "blocks");
  EXPECT_EQ(report.at("schedule").at("blocks").dump(), "[[0,3],[3,5],[5,7]]");
  ASSERT_EQ(report.at("blocks").size(), 3u);
  EXPECT_EQ(report.at("blocks")[1].at("steps").dump(), "[3,5]");
  EXPECT_GT(report.at("blocks")[1].at("exchanges").size(), 2u);
}

}  // namespace
}  // namespace strobe
