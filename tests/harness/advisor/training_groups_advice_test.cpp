// Groups of ranks in a plan: which points there are, and DistTGL's rule compared with all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/advisor/plan_report.hpp"
#include "harness/advisor/training_groups/advice.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

PlanSpace event_space(const std::string& model = "tgn-attn", const std::string& vertices = "60") {
  PlanSpace space;
  space.settings = {{"workload", "bursty_events", "--workload"},
                    {"workload.vertices", vertices, "--workload vertices"},
                    {"workload.events", "2000", "--workload events"},
                    {"model", model, "--model"},
                    {"task", "future-links", "--task"}};
  if (model != "tgat") space.settings.push_back({"model.memory", "6", "--model memory"});
  space.clusters = {"g4dn-t4"};
  space.nodes = {1, 2};
  return space;
}

std::int64_t number(const PlanPoint& point, const char* name) {
  return point.request.strategy.at(name).get<std::int64_t>();
}

TEST(GroupPoints, AreEveryProductThatFitsTheNodesAndOneGpuIsSequential) {
  std::map<int, std::set<std::vector<std::int64_t>>> found;  // by ranks
  for (const PlanPoint& point : plan_points(event_space())) {
    const auto ranks = static_cast<int>(point.request.ranks);
    EXPECT_EQ(ranks == 1, point.request.strategy.at("name") == "sequential") << point.id;
    if (ranks == 1) continue;
    EXPECT_EQ(number(point, "k"), 0) << "it follows from the ranks, so that the case can go to others";
    const std::int64_t i = number(point, "i"), j = number(point, "j"), k = ranks / (i * j);
    EXPECT_EQ(point.choices, (std::vector<std::pair<std::string, std::string>>{
                                 {"i", std::to_string(i)}, {"j", std::to_string(j)}, {"k", std::to_string(k)}}));
    EXPECT_TRUE(found[ranks].insert({i, j, k}).second) << point.id;
  }
  for (const auto& [ranks, nodes] : {std::pair{2, 1}, {4, 1}, {8, 1}, {16, 2}}) {
    std::set<std::vector<std::int64_t>> expected;
    for (std::int64_t i = 1; i <= ranks; ++i)
      for (std::int64_t j = 1; j <= ranks; ++j)
        for (std::int64_t k = 1; k <= ranks; ++k)
          if (i * j * k == ranks && k % nodes == 0) expected.insert({i, j, k});
    EXPECT_EQ(found[ranks], expected) << ranks;
  }
  EXPECT_EQ(found.size(), 4u);
}

TEST(GroupPoints, KeepWhatTheUserChooses) {
  PlanSpace space = event_space();
  space.nodes = {1};
  space.strategies = {{"event_batch", {{"i", "2"}}}};
  for (const PlanPoint& point : plan_points(space)) EXPECT_EQ(number(point, "i"), 2) << point.id;
  space.strategies = {{"event_batch", {{"memory_on", "device"}}}};
  for (const PlanPoint& point : plan_points(space)) EXPECT_EQ(number(point, "i") * number(point, "j"), 1) << point.id;
  space.strategies = {{"event_batch", {{"i", "3"}, {"batch", "20"}}}};
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 1, 1)) {
    EXPECT_EQ(outcome.status, "cannot_divide") << outcome.point.id;
    EXPECT_NE(outcome.reason.find("not a multiple of 3"), std::string::npos) << outcome.reason;
  }
}

TEST(GroupAdviceLaws, IsAmongThePointsAndTheFastestIsTheFastestOfAll) {
  PlanSpace space = event_space();
  std::vector<PlanPoint> points = plan_points(space);
  ASSERT_EQ(rule_refusal(space, points), "");
  const GroupPlanAdvice advice = advise_groups(space, {0.6, {}}, points);
  ASSERT_EQ(advice.places.size(), 4u);
  const std::vector<PlanOutcome> outcomes = evaluate(points, 10, 2);
  std::size_t simulated = 0;
  for (const GroupAdvice& place : advice.places) {
    ASSERT_TRUE(place.choice.groups) << place.refusal;
    EXPECT_EQ(place.choice.groups->ranks(), place.ranks);
    EXPECT_TRUE(place.largest.allowed);
    EXPECT_LE(place.choice.groups->i * place.choice.local_batch, place.largest.batch);
    const AdviceOutcome found = outcome_of(place, outcomes);
    ASSERT_NE(found.rule, nullptr);
    ASSERT_EQ(found.rule->status, "ok") << found.rule->reason;
    EXPECT_EQ(found.rule->point.nodes, place.nodes);
    EXPECT_LE(*found.rule->mails_lost_share, 0.6);
    const PlanOutcome* fastest = nullptr;
    for (const PlanOutcome& outcome : outcomes) {
      if (outcome.point.request.ranks != place.ranks || outcome.status != "ok") continue;
      EXPECT_GE(outcome.epoch_seconds, found.fastest->epoch_seconds) << outcome.point.id;
      if (fastest == nullptr || outcome.epoch_seconds < fastest->epoch_seconds) fastest = &outcome;
      if (whole_batch_of(outcome.point) <= place.largest.batch) {
        EXPECT_GE(outcome.epoch_seconds, found.fastest_within->epoch_seconds);
        EXPECT_LE(*outcome.mails_lost_share, 0.6 + 1e-12);
      }
    }
    EXPECT_EQ(found.fastest, fastest);
    simulated += found.simulated;
  }
  const auto grouped = std::count_if(points.begin(), points.end(), [](const PlanPoint& point) {
    return point.request.strategy.at("name") == "event_batch";
  });
  EXPECT_EQ(simulated, static_cast<std::size_t>(grouped));
}

TEST(GroupAdviceLaws, SaturationIsTheSimulatedRunOfOneGpuAndDependsOnTheClusterAlone) {
  PlanSpace space = event_space();
  space.clusters = {"g4dn-t4", "p5-h100"};
  space.nodes = {1};
  std::vector<PlanPoint> points = plan_points(space);
  const GroupPlanAdvice advice = advise_groups(space, {}, points);
  std::map<std::string, double> first;
  for (const GroupAdvice& place : advice.places) {
    const BatchRate& slowest = place.saturation.tried.front();
    EXPECT_EQ(slowest.batch, 100);
    EXPECT_EQ(first.try_emplace(place.cluster, slowest.events_per_second).first->second, slowest.events_per_second);
  }
  ASSERT_EQ(first.size(), 2u);
  EXPECT_NE(first.at("g4dn-t4"), first.at("p5-h100"));
  Case one = points.back().request;
  one.ranks = 1, one.cluster = "g4dn-t4";
  one.strategy["i"] = one.strategy["j"] = one.strategy["k"] = 1;
  one.strategy["batch"] = 100;
  const CaseResult result = run_case(one);
  double seconds = 0;
  for (const EpochSample& sample : result.samples) seconds = sample.warmup ? seconds : sample.epoch_seconds;
  EXPECT_NEAR(first.at("g4dn-t4"), 1400 / seconds, 1e-9 * 1400 / seconds);
}

TEST(GroupAdviceLaws, BatchesThatTheUserGivesAreKept) {
  PlanSpace space = event_space();
  space.nodes = {1};
  space.knobs = {{"strategy.batch", {"25", "50"}, "--vary strategy.batch"}};
  std::vector<PlanPoint> points = plan_points(space);
  const std::size_t before = points.size();
  const GroupPlanAdvice advice = advise_groups(space, {0.05, {}}, points);
  EXPECT_EQ(points.size(), before);
  ASSERT_EQ(advice.places.size(), 3u);
  for (const GroupAdvice& place : advice.places) {
    EXPECT_TRUE(place.choice.local_batch == 25 || place.choice.local_batch == 50);
    EXPECT_FALSE(place.largest.allowed) << "a batch of 25 of 60 bursty vertices misses more than a twentieth";
    EXPECT_EQ(place.choice.groups->i, 1);
    for (const BatchRate& tried : place.saturation.tried) EXPECT_TRUE(tried.batch == 25 || tried.batch == 50);
  }
}

TEST(GroupAdviceLaws, HostMemoryBoundsTheCopies) {
  PlanSpace space = event_space("tgn-attn", "5000");  // copies are larger than buffers
  space.nodes = {1};
  space.settings.push_back({"strategy.batch", "10", "--set strategy.batch"});
  const auto last = [&](const std::string& cluster) {
    space.clusters = {cluster};
    std::vector<PlanPoint> points = plan_points(space);
    return advise_groups(space, {0.001, {}}, points).places.back();  // i = 1
  };
  EXPECT_EQ(*last("g4dn-t4").limits.copies, 8);
  const GroupAdvice unknown = last("aimos-v100");
  EXPECT_FALSE(unknown.limits.copies.has_value());
  EXPECT_NE(unknown.assumptions.back().find("host.memory_bytes"), std::string::npos);
  std::int64_t before = 8;
  std::set<std::int64_t> seen;
  for (const char* bytes : {"12000000", "9000000", "6000000", "3000000", "1500000", "500000"}) {
    const GroupAdvice place = last(std::string("g4dn-t4:host.memory_bytes=") + bytes);
    // Without a value, no batch was found, because not even one copy fits.
    const std::int64_t copies = place.limits.copies.value_or(0);
    EXPECT_LE(copies, before) << bytes;
    before = copies;
    seen.insert(before);
    if (before == 0) {
      EXPECT_TRUE(place.refusal.find("hold one copy") != std::string::npos ||
                  place.refusal.find("1 copy of the memory") != std::string::npos)
          << place.refusal;
    } else {
      EXPECT_EQ(place.choice.groups->k, before);
      EXPECT_EQ(place.choice.groups->j, 8 / place.choice.groups->i / before);
    }
  }
  EXPECT_EQ(before, 0);
  EXPECT_GE(seen.size(), 3u);
}

/// A batch that fits one GPU may not fit several, because their communicator takes memory too. The rule's point is
/// there and says so.
TEST(GroupAdviceLaws, AConfigurationThatDoesNotFitTheDeviceIsNotTheFastest) {
  PlanSpace space = event_space();
  space.nodes = {1};
  space.clusters = {"g4dn-t4:gpu.memory_bytes=819e6"};
  std::vector<PlanPoint> points = plan_points(space);
  const GroupPlanAdvice advice = advise_groups(space, {}, points);
  const std::vector<PlanOutcome> outcomes = evaluate(points, 1, 1);
  for (const GroupAdvice& place : advice.places) {
    const AdviceOutcome found = outcome_of(place, outcomes);
    ASSERT_NE(found.rule, nullptr);
    EXPECT_EQ(found.rule->status, "out_of_memory");
    EXPECT_EQ(found.fastest, nullptr);
    EXPECT_EQ(found.fastest_within, nullptr);
  }
}

TEST(GroupAdviceLaws, RanksWithoutABatchBoundIt) {
  PlanSpace space = event_space();
  space.nodes = {2};
  std::vector<PlanPoint> points = plan_points(space);
  const GroupAdvice place = advise_groups(space, {1, {}}, points).places.front();  // 1400 events, 16 ranks
  EXPECT_EQ(place.limits.saturating_batch, 50) << "14 batches of 100 are too few, 28 of 50 are not";
  EXPECT_EQ(place.choice.why.front(), fmt::format("batch = 50: the largest that gives every rank a batch, below the {} "
                                                  "that saturate a GPU",
                                                  place.saturation.batch));
}

TEST(GroupAdviceLaws, HasNothingToSayWhereTheRuleChoosesNothing) {
  const auto refusal = [](const PlanSpace& space) { return rule_refusal(space, plan_points(space)); };
  EXPECT_NE(refusal(event_space("tgat")).find("keeps no node memory"), std::string::npos);
  PlanSpace alone = event_space();
  alone.strategies = {{"sequential", {}}};
  EXPECT_NE(refusal(alone).find("event_batch"), std::string::npos);
  for (const char* name : {"i", "j", "k"}) {
    PlanSpace chosen = event_space();
    chosen.strategies = {{"event_batch", {{name, "1"}}}};
    EXPECT_NE(refusal(chosen).find("nothing to choose"), std::string::npos) << name;
  }
  PlanSpace snapshots;
  snapshots.settings = {{"workload", "uniform", "--workload"}};
  snapshots.clusters = {"g4dn-t4"}, snapshots.nodes = {1};
  EXPECT_NE(refusal(snapshots).find("trains on snapshots"), std::string::npos);
}

TEST(GroupAdviceLaws, OutcomesDoNotDependOnThreads) {
  PlanSpace space = event_space();
  space.nodes = {1};
  const auto json = [&](int threads) {
    PlanReport report;
    std::vector<PlanPoint> points = plan_points(space);
    report.advice["training_groups"] = std::make_shared<GroupPlanAdvice>(advise_groups(space, {}, points));
    report.epochs = 3;
    report.outcomes = evaluate(points, 3, threads);
    judge_points(report);
    return plan_to_json(report).dump();
  };
  EXPECT_EQ(json(1), json(3));
}

/// Without shared batches, 28 batches of a rank are 3.5 iterations of 8 ranks. An epoch that a plan measures has 3 or 4
/// of them, and its first j - 1 iterations differ from the others. When 8 ranks share batches, there are 4.
TEST(GroupAdviceLaws, AnEpochIsThatOfTheLongRun) {
  PlanSpace space = event_space();
  space.nodes = {1};
  space.strategies = {{"event_batch", {{"batch", "50"}}}};
  int compared = 0;
  for (const PlanPoint& point : plan_points(space)) {
    if (point.request.ranks != 8) continue;
    const std::int64_t shared = number(point, "i"), batches = (28 + shared - 1) / shared, at_a_time = 8 / shared;
    const auto iterations = [&](std::int64_t epochs) { return (epochs * batches + at_a_time - 1) / at_a_time; };
    const double of_long_run = static_cast<double>(batches) / static_cast<double>(at_a_time);
    const PlanOutcome outcome = evaluate({point}, 1, 1).front();
    const std::int64_t warmup = outcome.point.request.warmup;
    EXPECT_GE(iterations(warmup), number(point, "j") - 1);
    EXPECT_EQ(warmup, number(point, "j") == 8 ? 2 : 1);
    const auto mean_epoch = [&](std::int64_t epochs) {
      Case c = outcome.point.request;
      c.epochs = epochs;
      std::map<int, double> slowest;  // by epoch
      for (const EpochSample& sample : run_case(c).samples)
        if (!sample.warmup) slowest[sample.epoch] = std::max(slowest[sample.epoch], sample.epoch_seconds);
      double seconds = 0;
      for (const auto& [epoch, own] : slowest) seconds += own;
      return seconds / static_cast<double>(epochs);
    };
    EXPECT_NEAR(outcome.epoch_seconds / mean_epoch(8), 1, 0.06) << point.id;
    const double measured = iterations(warmup + 1) - iterations(warmup);
    EXPECT_NEAR(outcome.epoch_seconds / mean_epoch(1), of_long_run / measured, 1e-9) << point.id;
    double phases = 0;
    for (const double seconds : outcome.phase_seconds) phases += seconds;
    EXPECT_NEAR(phases, outcome.epoch_seconds, 1e-9 * phases);
    ++compared;
    if (number(point, "i") != 2 || number(point, "j") != 2) continue;
    const ScalingStudy study = study_scaling(point);
    EXPECT_NEAR(study.points.front().epoch_seconds, outcome.epoch_seconds, 1e-9 * outcome.epoch_seconds);
  }
  EXPECT_EQ(compared, 10);
}

TEST(GroupAdviceLaws, TheStudyOfScalingGoesOnWithMoreCopies) {
  PlanSpace space = event_space();
  space.nodes = {1};
  space.strategies = {{"event_batch", {{"batch", "20"}}}};
  for (const PlanPoint& point : plan_points(space)) {
    if (point.request.ranks != 8 || number(point, "i") != 2 || number(point, "j") != 2) continue;
    const ScalingStudy study = study_scaling(point);
    ASSERT_EQ(study.points.size(), 3u);
    for (const ScalingPoint& at : study.points) EXPECT_EQ(at.status, "ok") << at.reason;
  }
}

}  // namespace
}  // namespace strobe
