// Points of several models: epochs of two models are other work, so neither dominates the other; jobs until a metric
// compare.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "harness/advisor/front.hpp"
#include "harness/advisor/plan_brief.hpp"
#include "harness/advisor/plan_report.hpp"

namespace strobe {
namespace {

PlanOutcome outcome_of(std::mt19937_64& random, int number) {
  PlanOutcome outcome;
  outcome.point.id = "point " + std::to_string(number);
  outcome.point.request.model = {{"name", random() % 2 == 0 ? "t-gcn" : "tgn-attn"}, {"hidden", 6 + random() % 2}};
  outcome.job_seconds = outcome.epoch_seconds = 1 + static_cast<double>(random() % 8);
  outcome.dollars = 1 + static_cast<double>(random() % 8);
  outcome.currency = "USD";
  outcome.peak_bytes = 1 + random() % 8;
  return outcome;
}

bool beats(const PlanOutcome& a, const PlanOutcome& b) {
  return a.job_seconds <= b.job_seconds && *a.dollars <= *b.dollars && a.peak_bytes <= b.peak_bytes &&
         (a.job_seconds < b.job_seconds || *a.dollars < *b.dollars || a.peak_bytes < b.peak_bytes);
}

/// The front by brute force, with and without the rule that models do not compare.
std::set<std::string> front_of(const std::vector<PlanOutcome>& outcomes, bool across_models) {
  std::set<std::string> front;
  for (const PlanOutcome& own : outcomes) {
    bool beaten = false;
    for (const PlanOutcome& other : outcomes)
      beaten = beaten || ((across_models || own.point.request.model == other.point.request.model) && beats(other, own));
    if (!beaten) front.insert(own.point.id);
  }
  return front;
}

std::set<std::string> kept(const std::vector<PlanOutcome>& outcomes) {
  std::set<std::string> ids;
  for (const PlanVerdict& verdict : find_front(outcomes, {}, PlanGoal::time))
    if (verdict.kept) ids.insert(outcomes[verdict.index].point.id);
  return ids;
}

TEST(FrontOfModels, IsThatOfEachModelUnlessJobsLastUntilAMetric) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<PlanOutcome> outcomes;
    for (int i = 0; i < 60; ++i) outcomes.push_back(outcome_of(random, i));
    EXPECT_EQ(kept(outcomes), front_of(outcomes, false)) << seed;
    for (PlanOutcome& outcome : outcomes) outcome.metric_updates = 5;
    EXPECT_EQ(kept(outcomes), front_of(outcomes, true)) << seed;
  }
}

TEST(FrontOfModels, TheTextNamesEachModelWithItsWidthAndMarksTheBestOfEach) {
  std::mt19937_64 random(3);
  PlanReport report;
  for (int i = 0; i < 20; ++i) report.outcomes.push_back(outcome_of(random, i));
  for (PlanOutcome& outcome : report.outcomes) {
    outcome.point.request.model["hidden"] = 6;
    outcome.point.request.workload = {{"name", "chess"}};
    outcome.point.request.task = {{"name", "link-prediction"}};
    outcome.point.request.strategy = {{"name", "vertex"}};
  }
  report.epochs = 10;
  judge_points(report);
  const std::string text = plan_text(report, 5);
  for (const char* words : {"workload   chess", "model      t-gcn:hidden=6; hidden=6 is a default for tests",
                            "model      tgn-attn:hidden=6", "each model has its own front"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  std::size_t best = 0;
  for (std::size_t at = text.find("\nbest "); at != std::string::npos; at = text.find("\nbest ", at + 1)) ++best;
  EXPECT_EQ(best, 2u) << text;
  report.request = {{"model", "t-gcn:hidden=6,tgn-attn"}};
  EXPECT_EQ(plan_text(report, 5).find("default for tests"), std::string::npos) << "the user named the width";
}

TEST(MemoryLine, HasThePartsOfTheRankThatNeedsMost) {
  PlanOutcome best;
  EXPECT_EQ(memory_text(best), "") << "without a row";
  auto row = std::make_shared<Row>();
  row->memory_bytes.emplace();
  for (std::uint64_t part = 0; part < memory_part_count; ++part)
    row->memory_bytes->accounted[static_cast<std::size_t>(part)] = {900, 1000 * (part + 1), 900 * part};
  best.row = row;
  EXPECT_EQ(
      memory_text(best),
      "\nmemory of the best point, on the GPU that needs most: state 1 kB, graph 2 kB, features 3 kB, buffers 4 kB, "
      "samples 5 kB\n");
}

}  // namespace
}  // namespace strobe
