// What a plan tries of parameters that strategies declare to be searched, and by what hybrid batches are ranked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/planner/evaluate.hpp"
#include "harness/run/run_case.hpp"
#include "results/row.hpp"

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

TEST(PlanEvaluation, AHybridBatchIsRankedByItsUpdates) {
  PlanSpace space = search_space();
  space.knobs.clear();
  space.nodes = {1};
  space.settings.push_back({"strategy.interval", "4", "--set"});
  space.settings.push_back({"strategy.vertices", "50%", "--set"});
  space.settings.push_back({"strategy.snapshots", "50%", "--set"});
  space.strategies = {{"hybrid_batch", {}}};
  std::set<std::string> averagings;
  for (const PlanOutcome& outcome : evaluate(plan_points(space), 10, 2)) {
    if (outcome.point.request.ranks != 2) continue;
    ASSERT_EQ(outcome.status, "ok") << outcome.reason;
    const std::string averaging = outcome.point.request.strategy.at("averaging").get<std::string>();
    averagings.insert(averaging);
    const CaseResult result = run_case(outcome.point.request);
    const Row row = summarise(case_to_json(outcome.point.request), "p", result);
    const double updates = averaging == "sync" ? 1 : 4;
    EXPECT_EQ(static_cast<double>(result.iterations_per_epoch), updates);
    EXPECT_NEAR(outcome.epoch_seconds, row.epoch_seconds->median / updates, 1e-9 * outcome.epoch_seconds);
    EXPECT_NEAR(static_cast<double>(outcome.sent_bytes), static_cast<double>(row.sent_bytes->back()) / updates, 1);
    EXPECT_EQ(outcome.job_seconds, 10 * outcome.epoch_seconds);
    const std::string told = fmt::format("one update, of {:.0f} cells", result.items_per_epoch / updates);
    EXPECT_TRUE(std::any_of(outcome.notes.begin(), outcome.notes.end(), [&](const std::string& note) {
      return note.find(told) != std::string::npos;
    })) << told;
  }
  EXPECT_EQ(averagings, (std::set<std::string>{"async", "sync"}));
}

}  // namespace
}  // namespace strobe
