// Which values a plan tries for parameters that strategies declare as searched, and how it ranks hybrid batches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/advisor/choice_costs.hpp"
#include "harness/advisor/evaluate.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

PlanSpace search_space() {
  PlanSpace space;
  space.settings = {{"workload", "uniform", "--workload"},
                    {"workload.steps", "9", "--workload steps"},
                    {"workload.vertices", "60", "--workload vertices"}};
  space.clusters = {"aimos-v100"};
  return space;
}

/// Points of `chunk` on one rank count, by the parameters that the search chose.
std::vector<std::map<std::string, std::string>> chunk_points(PlanSpace space) {
  space.knobs = {{"nb", {"1"}, "--vary nb"}};
  space.nodes = {2};
  std::vector<std::map<std::string, std::string>> all;
  for (const PlanPoint& point : plan_points(space)) {
    if (point.request.strategy.at("name") != "chunk") continue;
    std::map<std::string, std::string> chosen;
    for (const char* name : {"assign", "fusion", "max_cells", "weights"})
      chosen[name] = point.request.strategy.at(name).get<std::string>();
    all.push_back(chosen);
  }
  return all;
}

TEST(PlanPoints, ChunksComeInAllCombinationsWhereTheyAreAskedForAndElseOneChangeAtATime) {
  PlanSpace named = search_space(), all = search_space();
  named.strategies = {{"chunk", {}}};
  all.strategies.clear();
  const auto every = chunk_points(named), some = chunk_points(all);
  std::map<std::string, std::set<std::string>> values;
  for (const auto& chosen : every) {
    for (const auto& [name, value] : chosen) values[name].insert(value);
  }
  std::size_t product = 1, sum = 1;
  for (const auto& [name, tried] : values) {
    EXPECT_GE(tried.size(), 2u) << name;
    product *= tried.size(), sum += tried.size() - 1;
  }
  EXPECT_EQ(std::set(every.begin(), every.end()).size(), product);
  EXPECT_EQ(every.size(), product);
  ASSERT_EQ(some.size(), sum);
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), sum);
  for (const auto& chosen : some) {
    int changed = 0;
    for (const auto& [name, value] : chosen) changed += value != some.front().at(name);
    EXPECT_LE(changed, 1);
    EXPECT_NE(std::find(every.begin(), every.end(), chosen), every.end());
  }
  named.strategies = {{"chunk", {{"max_cells", "7"}}}};
  for (const auto& chosen : chunk_points(named)) EXPECT_EQ(chosen.at("max_cells"), "7");
  EXPECT_EQ(chunk_points(named).size(), product / values.at("max_cells").size());
}

PlanSpace hybrid_space() {
  PlanSpace space = search_space();
  space.knobs.clear();
  space.nodes = {1};
  space.settings[2].text = "400";  // vertices, so that 1 % of a rank's vertices is at least one
  space.settings[1].text = "20";
  space.strategies = {{"hybrid_batch", {}}};
  return space;
}

TEST(PlanPoints, HybridBatchesComeInEverySizeAndIntervalsOnlyWhereModelsAreAveraged) {
  PlanSpace space = hybrid_space();
  const auto chosen = [](const PlanSpace& of) {
    std::vector<std::map<std::string, std::string>> all;
    for (const PlanPoint& point : plan_points(of)) {
      if (point.request.ranks != 2) continue;
      std::map<std::string, std::string> one;
      for (const char* name : {"vertices", "snapshots", "averaging", "interval"})
        one[name] = point.request.strategy.at(name).get<std::string>();
      all.push_back(one);
    }
    return all;
  };
  const auto every = chosen(space);
  EXPECT_EQ(every.size(), 27u) << "three by three sizes, one sum of gradients and two intervals";
  EXPECT_EQ(std::set(every.begin(), every.end()).size(), every.size()) << "none is tried twice";
  for (const auto& one : every) {
    if (one.at("averaging") == "sync") {
      EXPECT_EQ(one.at("interval"), "10");
    }
  }
  // A given value is not searched, whether it is given with the strategy or as a setting.
  space.strategies = {{"hybrid_batch", {{"vertices", "7%"}, {"interval", "10"}}}};
  const auto given = chosen(space);
  EXPECT_EQ(given.size(), 6u);
  for (const auto& one : given) EXPECT_EQ(one.at("vertices") + one.at("interval"), "7%10");
  space.strategies = {{"hybrid_batch", {}}};
  space.settings.push_back({"strategy.interval", "10", "--set"});
  space.settings.push_back({"strategy.snapshots", "30%", "--set"});
  EXPECT_EQ(chosen(space).size(), 6u);
}

// With every batch size, an epoch of the plan trains as many cells as there are.
TEST(PlanEvaluation, AHybridBatchIsRankedByTheCellsThatItTrains) {
  PlanSpace space = hybrid_space();
  space.settings.push_back({"strategy.interval", "4", "--set"});
  std::set<std::string> averagings;
  std::set<double> updates_of;
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 10, 2)) {
    if (outcome.point.request.ranks != 2) continue;
    ASSERT_EQ(outcome.status, "ok") << outcome.reason;
    const std::string averaging = outcome.point.request.strategy.at("averaging").get<std::string>();
    averagings.insert(averaging);
    const CaseResult result = run_case(outcome.point.request);
    const Row row = summarise(case_to_json(outcome.point.request), "p", result);
    const double updates = averaging == "sync" ? 1 : 4;
    EXPECT_EQ(static_cast<double>(result.iterations_per_epoch), updates);
    Case request = outcome.point.request;
    const double trained = result.items_per_epoch / updates;
    EXPECT_DOUBLE_EQ(*outcome.update_cells, trained);
    const auto plan = plan_settled(request);
    const double steps = plan->schedule->describe().at("schedule").at("training_steps").get<double>();
    const double of_all = 400 * steps / trained;
    EXPECT_DOUBLE_EQ(outcome.updates, of_all);
    updates_of.insert(outcome.updates);
    EXPECT_NEAR(outcome.epoch_seconds, row.epoch_seconds->median * of_all / updates, 1e-9 * outcome.epoch_seconds);
    EXPECT_NEAR(static_cast<double>(outcome.sent_bytes), static_cast<double>(row.sent_bytes->back()) * of_all / updates,
                1);
    EXPECT_EQ(outcome.job_seconds, 10 * outcome.epoch_seconds);
  }
  EXPECT_EQ(averagings, (std::set<std::string>{"async", "sync"}));
  EXPECT_EQ(updates_of.size(), 8u) << "sizes differ, but 5 % x 20 % is as many as 20 % x 5 %";
}

TEST(PlanEvaluation, SizesThatAnAdjusterChoosesStandApartFromThoseThatAreKnown) {
  PlanSpace space = hybrid_space();
  space.strategies = {{"hybrid_batch", {{"vertices", "5%"}, {"snapshots", "20%"}, {"averaging", "sync"}}},
                      {"hybrid_batch",
                       {{"adjuster", "random"},
                        {"vertices", "5%"},
                        {"snapshots", "20%"},
                        {"averaging", "sync"},
                        {"vertex_sizes", "5%/20%"},
                        {"snapshot_sizes", "20%/50%"}}}};
  int apart = 0, ranked = 0;
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 10, 1)) {
    const bool chooses = outcome.point.request.strategy.at("adjuster") == "random";
    EXPECT_EQ(outcome.status, chooses ? "cannot_compare" : "ok") << outcome.reason;
    ++(chooses ? apart : ranked);
  }
  EXPECT_GT(apart, 0);
  EXPECT_EQ(apart, ranked);
  space.strategies.erase(space.strategies.begin());
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 10, 1)) EXPECT_EQ(outcome.status, "ok");
}

/// Checks choice_costs for `best`: it has each other value of a choice once.
void expect_costs_of(const std::vector<PlanOutcome>& outcomes, const PlanOutcome& best, const std::string& averaging) {
  const std::vector<ChoiceCost> costs = choice_costs(outcomes, best);
  std::map<std::string, std::set<std::string>> other;
  for (const ChoiceCost& cost : costs) {
    const PlanOutcome& outcome = outcomes[cost.index];
    EXPECT_EQ(outcome.point.request.ranks, best.point.request.ranks);
    EXPECT_TRUE(other[cost.choice].insert(cost.value).second) << cost.choice << " " << cost.value;
    EXPECT_DOUBLE_EQ(cost.times, outcome.job_seconds / best.job_seconds);
    // All settings equal the best point's, except this choice and the interval that only an averaging has.
    Json a = outcome.point.request.strategy, b = best.point.request.strategy;
    EXPECT_EQ(a.at(cost.choice), cost.value);
    EXPECT_NE(b.at(cost.choice), cost.value);
    a.erase(cost.choice), b.erase(cost.choice);
    if (cost.choice == "averaging") a.erase("interval"), b.erase("interval");
    EXPECT_EQ(a, b);
  }
  EXPECT_EQ(other.at("vertices").size(), 2u);
  EXPECT_EQ(other.at("snapshots").size(), 2u);
  EXPECT_EQ(other.at("averaging"), std::set<std::string>{averaging});
  EXPECT_NE(choice_costs_text(costs).find("vertices="), std::string::npos);
}

TEST(ChoiceCosts, NameEachOtherValueOfOneChoiceAndWhatItTakes) {
  const std::vector<PlanOutcome> outcomes = evaluate(plan_points(hybrid_space()), 10, 1);
  int judged = 0;
  for (const PlanOutcome& best : outcomes) {
    if (best.point.request.ranks != 2) continue;
    const bool sync = best.point.request.strategy.at("averaging") == "sync";
    expect_costs_of(outcomes, best, sync ? "async" : "sync");
    ++judged;
  }
  EXPECT_EQ(judged, 27);
}

TEST(ChoiceCosts, OfIntervalsThatFollowFromAnAveragingTheFastestStands) {
  const std::vector<PlanOutcome> outcomes = evaluate(plan_points(hybrid_space()), 10, 1);
  for (const PlanOutcome& best : outcomes) {
    if (best.point.request.ranks != 2 || best.point.request.strategy.at("averaging") != "sync") continue;
    double fastest = 1e300;
    for (const PlanOutcome& other : outcomes) {
      Json a = other.point.request.strategy, b = best.point.request.strategy;
      if (other.point.request.ranks != 2 || a.at("averaging") != "async") continue;
      for (const char* key : {"averaging", "interval"}) a.erase(key), b.erase(key);
      if (a == b) fastest = std::min(fastest, other.job_seconds / best.job_seconds);
    }
    for (const ChoiceCost& cost : choice_costs(outcomes, best)) {
      if (cost.choice == "averaging") {
        EXPECT_DOUBLE_EQ(cost.times, fastest);
      }
    }
  }
}

}  // namespace
}  // namespace strobe
