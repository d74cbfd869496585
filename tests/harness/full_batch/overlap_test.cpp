// Overlap: for every model that can be cut, redistributions in slices during the spatial stages give the same results
// and bytes as one after the other. Simulated time falls, rows report the hidden part, and spans separate hidden from
// exposed time. Contradictory requests are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/communicator.hpp"
#include "core/errors.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/planned_peak.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

/// 17 steps; training uses 16 of them.
Json base_case(const Json& model, const Json& strategy, int ranks, const std::string& nb) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 20}, {"steps", 17}, {"density", 3}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"nb", nb},
          {"epochs", 2},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
          {"precision", "fp64"}};
}

CaseResult run(Json request, int overlap) {
  request["overlap"] = overlap;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

std::vector<std::size_t> slices_of(Json request, int overlap) {
  request["overlap"] = overlap;
  std::vector<std::size_t> slices;
  const std::shared_ptr<const FullBatchPlan> plan = test::full_batch_plan(case_from_json(request, ""));
  for (const BlockPlan& block : plan->blocks) slices.push_back(block.slices.size());
  return slices;
}

PerTraffic<std::uint64_t> epoch_bytes(const CaseResult& result) {
  PerTraffic<std::uint64_t> bytes{};
  for (const EpochSample& sample : result.samples) {
    if (sample.epoch != 1) continue;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += sample.sent_bytes[i];
  }
  return bytes;
}

std::uint64_t bytes_of(const CaseResult& result, Traffic traffic) { return epoch_bytes(result)[traffic]; }

void expect_same(const CaseResult& a, const CaseResult& b, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), b.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < a.loss.per_epoch.size(); ++e) {
    EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, 1e-10) << what << " in epoch " << e;
  }
  for (const auto& [name, series] : b.metrics) {
    EXPECT_NEAR(a.metrics.at(name).per_epoch.back(), series.per_epoch.back(), 1e-3) << what << name;
  }
}

// ---- law 3 ------------------------------------------------------------------------------------------------------

/// Compares overlap 2 and 3 with 1, and finally with one rank without blocks and overlap.
void judge(const Json& model, const Json& strategy, int ranks, const std::string& nb) {
  const Json request = base_case(model, strategy, ranks, nb);
  const CaseResult whole = run(base_case(model, "sequential", 1, "1"), 1), plain = run(request, 1);
  EXPECT_NE(whole.loss.per_epoch.front(), whole.loss.per_epoch.back()) << "nothing was learnt";
  for (const int overlap : {2, 3}) {
    const std::string what = model.dump() + strategy.dump() + " r" + std::to_string(ranks) + " nb" + nb + " overlap" +
                             std::to_string(overlap);
    for (const std::size_t slices : slices_of(request, overlap)) EXPECT_GE(slices, 2u) << what;
    const CaseResult result = run(request, overlap);
    expect_same(result, whole, what);
    expect_same(result, plain, what);
    for (const Traffic traffic : {Traffic::redistribute, Traffic::halo, Traffic::gradient}) {
      EXPECT_EQ(bytes_of(result, traffic), bytes_of(plain, traffic)) << what;
    }
    EXPECT_GT(bytes_of(result, Traffic::redistribute), 0u) << what;
  }
}

class Overlap : public testing::TestWithParam<std::string> {};

TEST_P(Overlap, GivesTheCurveOfOneAfterTheOther) {
  for (const std::string nb : {"1", "2"}) {
    for (const int ranks : {2, 3, 4}) judge({{"name", GetParam()}}, "snapshot", ranks, nb);
    judge({{"name", GetParam()}}, {{"name", "snapshot_groups"}, {"group_size", 2}}, 4, nb);
    judge({{"name", GetParam()}}, {{"name", "snapshot_groups"}, {"group_size", 1}}, 3, nb);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Overlap, testing::Values("tm-gcn", "cd-gcn", "t-gcn", "mpnn-lstm", "dysat"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(OverlapVariants, ModelOptionsThatTheSpatialStageSees) {
  for (const Json& model : {Json{{"name", "tm-gcn"}, {"precompute", false}, {"window", 3}},
                            Json{{"name", "mpnn-lstm"}, {"dropout", 0.4}}, Json{{"name", "cd-gcn"}, {"layers", 3}},
                            Json{{"name", "dysat"}, {"structural_dropout", 0.3}, {"temporal_dropout", 0.5}},
                            Json{{"name", "tm-gcn"}, {"m", "inverse_distance"}}}) {
    judge(model, "snapshot", 3, "2");
    judge(model, {{"name", "snapshot_groups"}, {"group_size", 2}, {"partitioner", "hash"}}, 4, "1");
  }
}

TEST(OverlapVariants, RanksWithFewerStepsThanSlicesTakePart) {
  Json request = base_case({{"name", "tm-gcn"}}, "snapshot", 3, "3");
  EXPECT_EQ(slices_of(request, 4), (std::vector<std::size_t>{2, 2, 2}));  // blocks of 6, 5 and 5 steps
  const CaseResult whole = run(base_case({{"name", "tm-gcn"}}, "sequential", 1, "1"), 1);
  expect_same(run(request, 4), whole, "2, 2 and 1 steps");
  request["precision"] = "fp32";
  const CaseResult single = run(request, 4);
  EXPECT_NEAR(single.loss.per_epoch.back() / whole.loss.per_epoch.back(), 1.0, 1e-4);
}

TEST(OverlapVariants, NothingToOverlapIsSaidAndChangesNothing) {
  for (const auto& [model, strategy, ranks] :
       {std::tuple{"tm-gcn", "sequential", 1}, {"tm-gcn", "vertex", 2}, {"evolve-gcn-o", "snapshot", 2}}) {
    Json request = base_case({{"name", model}}, strategy, ranks, "1");
    const CaseResult plain = run(request, 1), result = run(request, 4);
    EXPECT_EQ(slices_of(request, 4), std::vector<std::size_t>{0});
    EXPECT_EQ(result.loss.per_epoch, plain.loss.per_epoch) << model << strategy;
    EXPECT_EQ(epoch_bytes(result), epoch_bytes(plain));
    ASSERT_EQ(result.notes.size(), plain.notes.size() + 1);
    EXPECT_NE(result.notes.back().find("overlap=4 has no effect"), std::string::npos);
  }
}

TEST(OverlapVariants, PlannedPeakHoldsInSlices) {
  Json request = base_case({{"name", "cd-gcn"}}, "snapshot", 2, "2");
  request["overlap"] = 3;
  const Case c = case_from_json(request, "");
  std::uint64_t peak = 0;
  for (const EpochSample& sample : run_case(c).samples) {
    peak = std::max({peak, sample.peak_host_bytes, sample.peak_device_bytes});
  }
  EXPECT_GT(peak, 0u);
  EXPECT_EQ(planned_peak(*make_plan(c)).bytes, peak);
}

// ---- requests ---------------------------------------------------------------------------------------------------

void refused(Json request, const Json& change, const std::string& where, const std::string& text) {
  request.update(change);
  try {
    run_case(case_from_json(request, ""));
    ADD_FAILURE() << request.dump() << " was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), where);
    EXPECT_NE(std::string(error.message()).find(text), std::string::npos) << error.message();
  }
}

TEST(OverlapRequests, WhatCannotBeCutIsRefused) {
  const Json request = base_case({{"name", "tm-gcn"}}, "snapshot", 2, "1");
  refused(request, {{"overlap", 2}, {"transfer", "difference"}}, "/overlap", "transfer=direct");
  refused(request, {{"overlap", 0}}, "/overlap", "1");
}

// ---- simulated --------------------------------------------------------------------------------------------------

struct Simulated {
  double epoch = 0, exposed = 0, hidden = 0;
};

Simulated simulate(const std::string& model, int overlap) {
  const CaseResult result = run({{"workload", "amlsim-20k"},
                                 {"model", {{"name", model}}},
                                 {"strategy", "snapshot"},
                                 {"ranks", 8},
                                 {"device", "sim"},
                                 {"cluster", "aimos-v100"},
                                 {"inputs", "resident"},
                                 {"epochs", 1},
                                 {"warmup", 0}},
                                overlap);
  Simulated most;
  for (const EpochSample& sample : result.samples) {
    most.epoch = std::max(most.epoch, sample.epoch_seconds);
    const auto phase = [&](Phase p) { return sample.phase_seconds[p]; };
    most.exposed = std::max(most.exposed, phase(Phase::communicate) + phase(Phase::wait));
    most.hidden = std::max(most.hidden, sample.hidden_communicate_seconds);
  }
  return most;
}

TEST(SimulatedOverlap, HidesCommunicationAndShortensTheEpoch) {
  for (const std::string model : {"tm-gcn", "cd-gcn"}) {
    const Simulated plain = simulate(model, 1), four = simulate(model, 4);
    // Without slices, only the time during copies of kept rows is hidden.
    EXPECT_LT(plain.hidden, 0.1 * plain.exposed) << model;
    EXPECT_GT(four.hidden, 3 * plain.hidden) << model;
    EXPECT_LT(four.exposed, 0.7 * plain.exposed) << model;
    EXPECT_LT(four.epoch, 0.985 * plain.epoch) << model;
    RecordProperty(model + "_epoch_us_1", std::to_string(plain.epoch * 1e6));
    RecordProperty(model + "_epoch_us_4", std::to_string(four.epoch * 1e6));
    RecordProperty(model + "_hidden_us_4", std::to_string(four.hidden * 1e6));
  }
}

// ---- spans ------------------------------------------------------------------------------------------------------

/// Blocking and hidden seconds of a rank's exchange; two ranks begin and wait at different times.
struct Split {
  double blocking = 0, hidden = 0;
  std::uint64_t bytes = 0;
};

Split split_of(Device& device, double begin, double end) {
  const EpochSample sample = sample_from_spans(device.spans().spans(), 0, device.spans().size(), begin, end);
  Split split;
  split.blocking = sample.phase_seconds[Phase::communicate];
  split.hidden = sample.hidden_communicate_seconds;
  split.bytes = sample.sent_bytes[Traffic::redistribute];
  return split;
}

/// Two ranks exchange `rows` rows of 64 floats each. Rank r begins, computes for away[r] seconds, and waits.
std::array<Split, 2> exchange_late(const std::array<double, 2>& away, std::int64_t rows) {
  LaunchRequest request;
  request.ranks = 2;
  request.make_device = DeviceRegistry::instance().find("cpu", "/device").value;
  std::array<Split, 2> splits;
  CommunicatorRegistry::instance().find("local", "/comm").value.launch(request, [&](Device& device, Communicator& c) {
    const std::size_t self = device.rank();
    const Tensor send = device.allocate(rows, 64), receive = device.allocate(rows, 64);
    device.run(Fill{send, 1.0});
    device.run(Fill{receive, 0.0});
    c.barrier();
    device.spans().clear();
    std::vector<PeerRows> rows_of_peer(2);
    rows_of_peer[1 - self] = {0, rows};
    const double begin = device.now();
    Request exchange = c.start_all_to_all_v(send, rows_of_peer, receive, rows_of_peer, Traffic::redistribute);
    std::this_thread::sleep_for(std::chrono::duration<double>(away[self]));
    c.wait(exchange);
    splits[self] = split_of(device, begin, device.now());
  });
  return splits;
}

TEST(LateWaits, OfOneRankAreServedByTheOther) {
  const std::int64_t rows = 20000;
  const std::array<Split, 2> splits = exchange_late({0.5, 0.0}, rows);
  EXPECT_GT(splits[0].hidden, 0.0);
  EXPECT_LT(splits[0].hidden, 0.4) << "time in which nothing moved was called hidden communication";
  EXPECT_LT(splits[0].blocking, splits[0].hidden);
  EXPECT_EQ(splits[1].hidden, 0.0) << "who carries it out hides nothing";
  EXPECT_GT(splits[1].blocking, 0.0);
  for (const Split& split : splits) EXPECT_EQ(split.bytes, static_cast<std::uint64_t>(rows) * 64 * 4);
}

TEST(LateWaits, OfAllRanksHideNothing) {
  const std::array<Split, 2> splits = exchange_late({0.5, 0.5}, 20000);
  // Only the time in which the rank that wakes first copies for both is hidden.
  for (const Split& split : splits) EXPECT_LT(split.hidden, 0.25);
  EXPECT_GT(splits[0].blocking + splits[1].blocking, 0.0);
}

}  // namespace
}  // namespace strobe
