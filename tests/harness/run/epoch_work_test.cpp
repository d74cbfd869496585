// Laws of the work of an epoch: work is rate times time, and exact strategies of one workload do the same work.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

/// The row of a simulated case; nothing where the combination is impossible.
std::optional<Row> simulated_row(const Json& strategy, int ranks, Json request) {
  request.update(Json{{"strategy", strategy},
                      {"ranks", ranks},
                      {"device", "sim"},
                      {"cluster", "p4d-a100"},
                      {"epochs", 2},
                      {"warmup", 0}});
  try {
    const Case c = case_from_json(request, "");
    const CaseResult result = run_case(c);
    EXPECT_EQ(result.status, "ok") << result.reason;
    return summarise(case_to_json(c), case_id(c), result);
  } catch (const InvalidRequest&) {
    return std::nullopt;
  }
}

void expect_work_is_rate_times_time(const Row& row, const std::string& what) {
  ASSERT_TRUE(row.epoch_work.has_value()) << what;
  const EpochWork& work = *row.epoch_work;
  const double seconds = row.epoch_seconds->median;
  for (const auto& [key, count] : {std::pair{"cells_per_second", work.cells},
                                   {"edges_per_second", work.edges},
                                   {"events_per_second", work.events}}) {
    const auto rate = row.throughput.find(key);
    EXPECT_EQ(rate != row.throughput.end(), count > 0) << what << " " << key;
    if (rate != row.throughput.end()) EXPECT_NEAR(rate->second * seconds, count, 1e-9 * count) << what << " " << key;
  }
  EXPECT_EQ(work.updates, static_cast<double>(row.iterations.value_or(0))) << what;
  EXPECT_GT(work.cells + work.edges + work.events, 0) << what;
}

Json counts_of(const Row& row) { return row_to_json(row).at("epoch_work"); }

/// Every registered strategy that takes the parameters, on several ranks, against the sequential one. Returns how many
/// exact rows there were.
int judge_works(const Json& request, const std::string& schedule, const Json& parameters = Json::object()) {
  const auto strategy_of = [&](const std::string& name) {
    Json strategy = parameters;
    strategy["name"] = name;
    return strategy;
  };
  const std::optional<Row> sequential = simulated_row(strategy_of("sequential"), 1, request);
  int exact = 0;
  for (const auto& [name, entry] : StrategyRegistry::instance().entries()) {
    for (const int ranks : {1, 2, 3}) {
      const std::optional<Row> row = simulated_row(strategy_of(name), ranks, request);
      if (!row || !row->epoch_seconds) continue;
      const std::string what = schedule + "/" + name + "/r" + std::to_string(ranks);
      expect_work_is_rate_times_time(*row, what);
      if (!row->exact || !sequential) continue;
      ++exact;
      EXPECT_EQ(counts_of(*row), counts_of(*sequential)) << what;
    }
  }
  return exact;
}

TEST(EpochWork, OfExactStrategiesIsTheSameAndAllIsRateTimesTime) {
  const Json graph{{"workload", {{"name", "uniform"}, {"steps", 8}, {"vertices", 60}, {"density", 3.0}}},
                   {"model", "t-gcn"}};
  EXPECT_GE(judge_works(graph, "steps"), 8);
}

TEST(EpochWork, OfEventsIsTheSame) {
  const Json events{{"workload", {{"name", "bursty_events"}, {"vertices", 40}, {"events", 400}}},
                    {"model", {{"name", "jodie"}, {"memory", 8}, {"time", 8}}},
                    {"task", "future-links"}};
  EXPECT_GE(judge_works(events, "events", {{"batch", 50}}), 2);
}

TEST(EpochWork, OfAHybridBatchOverEverythingIsThatOfAFullBatch) {
  const Json graph{{"workload", {{"name", "uniform"}, {"steps", 8}, {"vertices", 60}, {"density", 3.0}}},
                   {"model", "t-gcn"}};
  const auto whole = simulated_row({{"name", "hybrid_batch"}, {"vertices", "100%"}, {"snapshots", "100%"}}, 2, graph);
  const auto full = simulated_row("vertex", 2, graph);
  ASSERT_TRUE(whole && full);
  ASSERT_TRUE(whole->exact) << ::testing::PrintToString(whole->approximations);
  EXPECT_EQ(counts_of(*whole), counts_of(*full));
}

}  // namespace
}  // namespace strobe
