// The time to load that a row states: measured, predicted, or absent with a reason.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "backends/cluster.hpp"
#include "harness/run/kept_plans.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/load_time.hpp"
#include "harness/training/make_plan.hpp"
#include "results/row/row.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

constexpr double reading_seconds = 0.2;

SnapshotGraph slow_graph(const Json& parameters, std::uint64_t seed) {
  std::this_thread::sleep_for(std::chrono::duration<double>(reading_seconds));
  return GeneratorRegistry::instance().find("uniform").value(parameters, seed);
}

/// The slow generator is registered only for these tests, because other tests loop over the registry.
class LoadSeconds : public ::testing::Test {
 protected:
  void SetUp() override {
    if (GeneratorRegistry::instance().contains("test-slow")) return;
    const auto& uniform = GeneratorRegistry::instance().find("uniform");
    GeneratorRegistry::instance().add({"test-slow", "uniform, slow to read", "", uniform.parameters, slow_graph, {}});
  }

  static Case case_of(const Json& changes, const std::string& workload = "test-slow") {
    Json json{{"workload", {{"name", workload}, {"vertices", 50}, {"steps", 6}}},
              {"strategy", "vertex"},
              {"model", "t-gcn"},
              {"epochs", 1},
              {"warmup", 0}};
    json.update(changes);
    return case_from_json(json, "");
  }

  static Row row_of(const Case& c, const CaseResult& result) { return summarise(case_to_json(c), "x", result); }
};

TEST_F(LoadSeconds, CountReadingOfTheCaseThatReads) {
  KeptPlans plans(std::uint64_t{1} << 30);
  double before = 0;
  for (const int ranks : {1, 3}) {
    const Case c = case_of({{"ranks", ranks}});
    const Row row = row_of(c, run_planned(plans.get(c), c, nullptr));
    ASSERT_EQ(row.status, "ok") << row.reason;
    if (before == 0) {
      EXPECT_GE(row.load_seconds, reading_seconds);
    } else {
      EXPECT_GT(row.load_seconds, 0);
      EXPECT_LE(row.load_seconds, before - reading_seconds / 2) << "the graph is in memory already";
    }
    EXPECT_EQ(row.absent.count("/load_seconds"), 0u);
    before = row.load_seconds;
  }
}

TEST_F(LoadSeconds, OfAPlanThatIsMadeAgainCountReading) {
  const Case first = case_of({{"ranks", 1}, {"host_memory_limit_gib", 8}}),
             second = case_of({{"ranks", 3}, {"host_memory_limit_gib", 8}});
  KeptPlans plans(std::uint64_t{1} << 30);
  plans.get(first);
  plans.get(second);  // drops the first plan, and finds the graph in memory
  EXPECT_GE(plans.take(first)->load_seconds, reading_seconds);
  EXPECT_LE(plans.take(second)->load_seconds, reading_seconds / 2);
}

TEST_F(LoadSeconds, OfAPredictionFollowFromTheRatesOfTheCluster) {
  const Json simulated{{"device", "sim"}, {"comm", "sim"}, {"cluster", "p3dn-v100"}};
  const Case without = case_of(simulated, "uniform");
  const Row unknown = row_of(without, run_case(without));
  EXPECT_TRUE(std::isnan(unknown.load_seconds));
  EXPECT_EQ(unknown.absent.at("/load_seconds"),
            "the cluster states no rates of loading; strobe calibrate measures them");

  const test::TemporaryFolder folder;
  Json cluster = load_cluster("p3dn-v100")->raw;
  for (const char* key : {"made_entries_per_second", "prepared_entries_per_second", "prepared_features_per_second"})
    cluster["host"][key] = {{"value", 1000}, {"source", "a test"}, {"date", "2026-11-30"}};
  Json with_rates = simulated;
  with_rates["cluster"] = folder.write("rates.json", cluster.dump());
  const Case c = case_of(with_rates, "uniform");
  const Row row = row_of(c, run_case(c));
  ASSERT_EQ(row.status, "ok") << row.reason;
  const double made = row.epoch_work->edges / 5 * 6, prepared = row.epoch_work->edges + 50 * 5, features = 50 * 5 * 2;
  EXPECT_NEAR(row.load_seconds, (made + prepared + features) / 1000, 0.02 * row.load_seconds);
}

}  // namespace
}  // namespace strobe
