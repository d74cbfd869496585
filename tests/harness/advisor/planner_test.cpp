// The planner: the points that it makes, its report on them, and its judgement compared with brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "core/registry_names.hpp"
#include "harness/advisor/plan_report.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

constexpr const char* tiny = "uniform";

PlanSpace tiny_space() {
  PlanSpace space;
  space.settings = {{"workload", tiny, "--workload"},
                    {"workload.steps", "9", "--workload steps"},
                    {"workload.vertices", "60", "--workload vertices"}};
  space.clusters = {"aimos-v100"};
  space.nodes = {1, 2};
  space.strategies = {{"sequential", {}}, {"snapshot", {}}, {"vertex", {{"partitioner", "hash"}}}};
  space.knobs = {{"nb", {"1", "2"}, "--vary nb"}};
  return space;
}

std::vector<std::string> ids(const std::vector<PlanPoint>& points) {
  std::vector<std::string> result;
  for (const PlanPoint& point : points) result.push_back(point.id);
  return result;
}

TEST(PlanPoints, AreNamedOnceAndOneGpuIsSequential) {
  const std::vector<PlanPoint> points = plan_points(tiny_space());
  const std::vector<std::string> names = ids(points);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  // sequential: 1 GPU x 2 knobs; the others: 2, 4, 8 and 16 GPUs x 2 knobs each.
  EXPECT_EQ(points.size(), 2u + 2u * 4u * 2u);
  for (const PlanPoint& point : points) {
    EXPECT_EQ(point.request.ranks == 1, point.request.strategy.at("name") == "sequential") << point.id;
    EXPECT_EQ(point.request.device, "sim");
    EXPECT_EQ(point.request.numerics, "none");
  }
  EXPECT_EQ(names.front(), "aimos-v100/1x1/sequential/nb=1");
  EXPECT_EQ(names.back(), "aimos-v100/2x8/vertex/partitioner=hash/nb=2");
}

TEST(PlanPoints, TriesEveryStrategyAndVariantByItself) {
  PlanSpace space = tiny_space();
  space.strategies.clear();
  space.knobs.clear();
  space.nodes = {1};
  std::set<std::string> strategies, partitioners, blocks;
  for (const PlanPoint& point : plan_points(space)) {
    strategies.insert(point.request.strategy.at("name").get<std::string>());
    if (point.request.strategy.at("name") == "vertex") {
      partitioners.insert(point.request.strategy.at("partitioner").get<std::string>());
    }
    blocks.insert(point.request.nb);
  }
  std::vector<std::string> known = names_with<StrategyTag>(&StrategyTag::Value::schedule, "full_batch");
  std::erase_if(known, [](const std::string& name) { return StrategyRegistry::instance().find(name).value.preset; });
  EXPECT_EQ(strategies, std::set<std::string>(known.begin(), known.end()));
  EXPECT_GE(partitioners.size(), 2u);
  EXPECT_EQ(blocks, (std::set<std::string>{"1", "2", "4", "8"}));
}

// An epoch of hybrid batches is one update, so by epoch time it would beat any pass over all cells.
TEST(PlanPoints, StrategiesWhoseEpochsAreUnlikeAreNotRanked) {
  PlanSpace space = tiny_space();
  space.knobs.clear();
  space.strategies = {{"hybrid_batch", {}}, {"dbov", {}}};
  EXPECT_FALSE(plan_points(space).empty());
  space.strategies.push_back({"vertex", {}});
  EXPECT_THROW(plan_points(space), InvalidRequest);
  space.until_metric = true;  // times to a metric can be compared
  EXPECT_FALSE(plan_points(space).empty());
}

TEST(PlanPoints, CountsAboveTheClusterAreExtrapolated) {
  PlanSpace space = tiny_space();
  space.nodes = {64};
  space.strategies = {{"snapshot", {}}};
  const std::vector<PlanPoint> points = plan_points(space);
  EXPECT_EQ(points.front().request.ranks, 512);
  EXPECT_EQ(points.front().request.cluster, "aimos-v100:nodes=64");
  EXPECT_TRUE(load_cluster(points.front().request.cluster)->extrapolated());
}

TEST(PlanPoints, RefusesWhatTheSearchDecides) {
  for (const char* path : {"ranks", "cluster", "strategy", "device"}) {
    PlanSpace space = tiny_space();
    space.settings.push_back({path, "4", std::string("--set ") + path});
    EXPECT_THROW(plan_points(space), InvalidRequest) << path;
  }
  PlanSpace unknown = tiny_space();
  unknown.clusters = {"aimos-v10"};
  EXPECT_THROW(plan_points(unknown), InvalidRequest);
  PlanSpace twice = tiny_space();
  twice.knobs = {{"nb", {"2", "2"}, "--vary nb"}};
  EXPECT_THROW(plan_points(twice), InvalidRequest);
}

Json of(const std::vector<PlanOutcome>& outcomes) {
  PlanReport report;
  report.epochs = 10;
  report.outcomes = outcomes;
  judge_points(report);
  return plan_to_json(report);
}

TEST(PlanEvaluation, IsTheSimulatedRunAndDoesNotDependOnThreads) {
  const std::vector<PlanPoint> points = plan_points(tiny_space());
  const std::vector<PlanOutcome> outcomes = evaluate(points, 10, 1);
  EXPECT_EQ(of(outcomes).dump(), of(evaluate(points, 10, 3)).dump());
  ASSERT_EQ(outcomes.size(), points.size());
  int run = 0;
  for (std::size_t i = 0; i < points.size(); i += 5) {
    if (outcomes[i].status != "ok") continue;
    const CaseResult result = run_case(points[i].request);
    const Row row = summarise(case_to_json(points[i].request), "p", result);
    EXPECT_EQ(outcomes[i].epoch_seconds, row.epoch_seconds->median) << points[i].id;
    EXPECT_EQ(outcomes[i].sent_bytes, row.sent_bytes->back());
    EXPECT_EQ(outcomes[i].job_seconds, 10 * outcomes[i].epoch_seconds);
    ++run;
  }
  EXPECT_GE(run, 2);
}

TEST(PlanEvaluation, OneEpochStandsForAll) {
  PlanSpace space = tiny_space();
  space.settings.push_back({"epochs", "4", "--set epochs"});
  int compared = 0;
  for (const PlanPoint& point : plan_points(space)) {
    if (point.request.ranks > 4) continue;
    const CaseResult result = run_case(point.request);
    std::map<int, double> first;
    for (const EpochSample& sample : result.samples) {
      if (sample.warmup) continue;
      const double seconds = first.try_emplace(sample.rank, sample.epoch_seconds).first->second;
      EXPECT_NEAR(sample.epoch_seconds, seconds, 1e-9 * seconds) << point.id;
      ++compared;
    }
  }
  EXPECT_GE(compared, 4 * (1 + 2 * (2 + 4)));
}

TEST(PlanEvaluation, WhatCannotBeDividedIsDiscardedWithItsReason) {
  int refused = 0;
  for (const PlanOutcome& outcome : evaluate(plan_points(tiny_space()), 1, 2)) {
    // 8 steps are trained on; with two blocks a block has 4.
    const bool snapshot = outcome.point.request.strategy.at("name") == "snapshot";
    const std::int64_t steps = outcome.point.request.nb == "2" ? 4 : 8;
    const bool impossible = snapshot && outcome.point.request.ranks > steps;
    EXPECT_EQ(outcome.status, impossible ? "cannot_divide" : "ok") << outcome.point.id << " " << outcome.reason;
    if (impossible) {
      EXPECT_NE(outcome.reason.find("steps"), std::string::npos) << outcome.reason;
    }
    refused += impossible;
  }
  EXPECT_EQ(refused, 1 + 2) << "16 GPUs with one block; 8 and 16 with two";
}

TEST(PlanEvaluation, AWrongRequestIsNotAPoint) {
  PlanSpace space = tiny_space();
  space.settings.push_back({"task", "vertex-classification", "--task"});
  EXPECT_THROW(evaluate(plan_points(space), 1, 2), InvalidRequest) << "the workload has no labels";
}

TEST(PlanEvaluation, AGraphTooLargeForOneGpuIsOutOfMemoryThereAndFitsMore) {
  PlanSpace space;
  // 851,240 x 120 cells: 100 features of hidden state are 41 GB, more than a V100 has.
  space.settings = {{"workload", "amazon", "--workload"}, {"model.hidden", "100", "--set"}};
  space.clusters = {"aimos-v100"};
  space.nodes = {1, 8};
  space.knobs = {{"nb", {"1"}, "--vary nb"}};
  space.strategies = {{"sequential", {}}, {"snapshot", {}}};
  std::map<std::int64_t, PlanOutcome> by_ranks;
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 1, 2)) by_ranks[outcome.point.request.ranks] = outcome;
  EXPECT_EQ(by_ranks.at(1).status, "out_of_memory");
  EXPECT_NE(by_ranks.at(1).reason.find("memory"), std::string::npos) << by_ranks.at(1).reason;
  ASSERT_EQ(by_ranks.at(64).status, "ok") << by_ranks.at(64).reason;
  EXPECT_GT(by_ranks.at(64).peak_bytes, std::uint64_t{500000000});
  const std::vector<PlanOutcome> outcomes = {by_ranks.at(1), by_ranks.at(64)};
  const std::vector<PlanVerdict> verdicts = find_front(outcomes, {}, PlanGoal::time);
  EXPECT_EQ(verdicts[0].index, 1u);
  EXPECT_EQ(verdicts[1].cause, "out_of_memory");
}

// Judgement ------------------------------------------------------------------------------------------------------

/// Random outcomes on a coarse grid, so that ties and equal points occur; some without a price, some failed.
std::vector<PlanOutcome> random_outcomes(std::uint64_t seed, std::size_t count) {
  const RandomStream random(seed, random_purpose::partition);
  std::vector<PlanOutcome> outcomes(count);
  for (std::size_t i = 0; i < count; ++i) {
    PlanOutcome& o = outcomes[i];
    o.point.id = "p" + std::to_string(i);
    o.point.request.strategy = {{"name", "snapshot"}};
    o.job_seconds = 1.0 + static_cast<double>(random.below(5 * i, 12));
    if (random.below(5 * i + 1, 5) != 0) o.dollars = static_cast<double>(random.below(5 * i + 2, 12));
    o.currency = o.dollars ? "USD" : "";
    o.peak_bytes = 100 + random.below(5 * i + 3, 12);
    if (random.below(5 * i + 4, 10) == 0) o.status = "out_of_memory";
  }
  return outcomes;
}

double price(const PlanOutcome& o) { return o.dollars.value_or(std::numeric_limits<double>::infinity()); }

bool better(const PlanOutcome& a, const PlanOutcome& b) {
  return a.job_seconds <= b.job_seconds && price(a) <= price(b) && a.peak_bytes <= b.peak_bytes &&
         (a.job_seconds < b.job_seconds || price(a) < price(b) || a.peak_bytes < b.peak_bytes);
}

TEST(PlanJudgement, TheFrontIsThatOfBruteForce) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<PlanOutcome> outcomes = random_outcomes(seed, 120);
    const std::vector<PlanVerdict> verdicts = find_front(outcomes, {}, PlanGoal::time);
    ASSERT_EQ(verdicts.size(), outcomes.size());
    for (const PlanVerdict& verdict : verdicts) {
      const PlanOutcome& own = outcomes[verdict.index];
      const bool dominated = std::any_of(outcomes.begin(), outcomes.end(), [&](const PlanOutcome& other) {
        return other.status == "ok" && better(other, own);
      });
      EXPECT_EQ(verdict.kept, own.status == "ok" && !dominated) << own.point.id << " of seed " << seed;
      if (verdict.cause != "dominated") continue;
      EXPECT_TRUE(better(outcomes[verdict.dominated_by], own)) << verdict.reason;
      const auto by = std::find_if(verdicts.begin(), verdicts.end(),
                                   [&](const PlanVerdict& v) { return v.index == verdict.dominated_by; });
      EXPECT_TRUE(by->kept) << verdict.reason;
      EXPECT_EQ(reason_of(outcomes, verdict).find(outcomes[verdict.dominated_by].point.id + " dominates it: "), 0u);
    }
  }
}

TEST(PlanJudgement, LimitsAreRespectedAndNamed) {
  PlanLimits limits;
  limits.deadline_seconds = 8;
  limits.budget = 6;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<PlanOutcome> outcomes = random_outcomes(seed, 120);
    for (const PlanVerdict& verdict : find_front(outcomes, limits, PlanGoal::dollars)) {
      const PlanOutcome& own = outcomes[verdict.index];
      const bool late = own.job_seconds > 8, dear = own.dollars && *own.dollars > 6;
      if (verdict.kept) {
        EXPECT_TRUE(!late && !dear && own.dollars && own.status == "ok");
      }
      if (own.status != "ok") {
        EXPECT_EQ(verdict.cause, "out_of_memory");
      } else if (late) {
        EXPECT_EQ(verdict.cause, "over_deadline");
      } else if (!own.dollars) {
        EXPECT_EQ(verdict.cause, "no_price");
      } else {
        EXPECT_EQ(verdict.cause == "over_budget", dear);
      }
      EXPECT_EQ(verdict.kept, verdict.cause.empty());
    }
  }
  std::vector<PlanOutcome> euros = random_outcomes(1, 1);
  euros[0].status = "ok", euros[0].job_seconds = 1, euros[0].dollars = 1, euros[0].currency = "EUR";
  EXPECT_EQ(find_front(euros, limits, PlanGoal::time).front().cause, "other_currency");
}

/// Whether a is nowhere worse than b and somewhere better. False when their costs are in two currencies.
bool better_in_currencies(const PlanOutcome& a, const PlanOutcome& b) {
  if (a.dollars && b.dollars && a.currency != b.currency) return false;
  return better(a, b);
}

TEST(PlanJudgement, CostsInTwoCurrenciesDoNotCompare) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<PlanOutcome> outcomes = random_outcomes(seed, 150);
    const RandomStream random(seed, random_purpose::partition, 7);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::array<const char*, 3> codes = {"EUR", "JPY", "USD"};
      if (outcomes[i].dollars) outcomes[i].currency = codes[random.below(i, 3)];
    }
    for (const PlanGoal goal : {PlanGoal::time, PlanGoal::dollars, PlanGoal::memory}) {
      const std::vector<PlanVerdict> verdicts = find_front(outcomes, {}, goal);
      for (const PlanVerdict& verdict : verdicts) {
        const PlanOutcome& own = outcomes[verdict.index];
        const bool dominated = std::any_of(outcomes.begin(), outcomes.end(), [&](const PlanOutcome& other) {
          return other.status == "ok" && better_in_currencies(other, own);
        });
        EXPECT_EQ(verdict.kept, own.status == "ok" && !dominated) << own.point.id << " of seed " << seed;
        if (verdict.cause != "dominated") continue;
        EXPECT_TRUE(better_in_currencies(outcomes[verdict.dominated_by], own)) << verdict.reason;
        EXPECT_EQ(std::count_if(verdicts.begin(), verdicts.end(),
                                [&](const PlanVerdict& v) { return v.index == verdict.dominated_by && v.kept; }),
                  1)
            << verdict.reason;
      }
    }
  }
}

TEST(PlanJudgement, AThousandTimesTheNumberInAnotherCurrencyIsNotDearer) {
  std::vector<PlanOutcome> two(2);
  for (std::size_t i = 0; i < 2; ++i) {
    two[i].point.id = i == 0 ? "dollars" : "yen";
    two[i].job_seconds = 5, two[i].peak_bytes = 100;
    two[i].dollars = i == 0 ? 0.0424 : 6.52;
    two[i].currency = i == 0 ? "USD" : "JPY";
  }
  for (const PlanGoal goal : {PlanGoal::time, PlanGoal::dollars, PlanGoal::memory}) {
    for (const PlanVerdict& verdict : find_front(two, {}, goal)) EXPECT_TRUE(verdict.kept) << verdict.reason;
  }
  two[1].currency = "USD";
  EXPECT_EQ(find_front(two, {}, PlanGoal::time)[1].cause, "dominated") << "of one currency it is dearer";
}

TEST(PlanJudgement, TheOrderIsThatOfTheGoal) {
  const std::vector<PlanOutcome> outcomes = random_outcomes(7, 80);
  for (const PlanGoal goal : {PlanGoal::time, PlanGoal::dollars, PlanGoal::memory}) {
    double last = -1;
    for (const PlanVerdict& verdict : find_front(outcomes, {}, goal)) {
      if (!verdict.kept) break;
      const PlanOutcome& own = outcomes[verdict.index];
      const double now = goal == PlanGoal::time      ? own.job_seconds
                         : goal == PlanGoal::dollars ? price(own)
                                                     : static_cast<double>(own.peak_bytes);
      EXPECT_GE(now, last);
      last = now;
    }
    EXPECT_GE(last, 0) << "the front is not empty";
  }
}

// Scaling --------------------------------------------------------------------------------------------------------

TEST(PlanScaling, PartsAddUpToTheEpochAndTheEpochIsThePoints) {
  PlanSpace space = tiny_space();
  space.nodes = {2};
  space.strategies = {{"vertex", {{"partitioner", "hash"}}}};
  space.knobs = {{"nb", {"1"}, "--vary nb"}};
  const PlanPoint best = plan_points(space).front();
  const ScalingStudy study = study_scaling(best);
  ASSERT_EQ(study.points.size(), 4u) << "1, 2, 4 and 8 nodes";
  for (const ScalingPoint& point : study.points) {
    if (point.status != "ok") continue;
    double sum = point.compute_seconds + point.transfer_seconds + point.wait_seconds + point.other_seconds;
    for (const double seconds : point.communicate_seconds) sum += seconds;
    EXPECT_NEAR(sum, point.epoch_seconds, 1e-9 * point.epoch_seconds) << point.nodes;
    EXPECT_LE(point.launch_bound_seconds, point.compute_seconds);
    EXPECT_GT(point.communicate_seconds[Traffic::halo], 0);
    EXPECT_GE(point.max_over_mean_busy, 1 - 1e-12);  // a mean of equal times may round up
  }
  EXPECT_EQ(study.points[1].epoch_seconds, evaluate({best}, 1, 1).front().epoch_seconds);
  EXPECT_EQ(study.points.front().efficiency, 1);
  EXPECT_NE(study.summary.find("what scales least is"), std::string::npos) << study.summary;
}

TEST(PlanScaling, AStudyOfOneRankSaysSo) {
  PlanSpace space = tiny_space();
  space.nodes = {1};
  space.strategies = {{"sequential", {}}};
  const ScalingStudy study = study_scaling(plan_points(space).front());
  EXPECT_EQ(study.points.size(), 1u);
  EXPECT_EQ(study.points.front().wait_seconds, 0);
  EXPECT_NE(study.summary.find("nothing is divided"), std::string::npos);
}

}  // namespace
}  // namespace strobe
