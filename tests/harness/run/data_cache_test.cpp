// Cases of one run load each graph once. Runs with separate caches share nothing.
#include "core/data_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/run/kept_plans.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

std::atomic<int> graphs_loaded = 0;

SnapshotGraph counted_graph(const Json& parameters, std::uint64_t seed) {
  ++graphs_loaded;
  return GeneratorRegistry::instance().find("uniform").value(parameters, seed);
}

EventGraph counted_events(const Json& parameters, std::uint64_t seed) {
  ++graphs_loaded;
  return EventGeneratorRegistry::instance().find("bursty_events").value.generate(parameters, seed);
}

/// The plug-ins here are registered only for these tests, because other tests loop over the registries.
class DataCacheLoads : public ::testing::Test {
 protected:
  void SetUp() override {
    graphs_loaded = 0;
    if (GeneratorRegistry::instance().contains("test-graph")) return;
    const auto& uniform = GeneratorRegistry::instance().find("uniform");
    GeneratorRegistry::instance().add({"test-graph", "uniform, counted", "", uniform.parameters, counted_graph, {}});
    const auto& bursty = EventGeneratorRegistry::instance().find("bursty_events");
    auto counted = bursty.value;
    counted.generate = counted_events;
    EventGeneratorRegistry::instance().add({"test-events", "bursty, counted", "", bursty.parameters, counted, {}});
  }
};

Case snapshot_case(std::int64_t vertices, const std::string& model, const std::string& strategy) {
  return case_from_json({{"workload", {{"name", "test-graph"}, {"vertices", vertices}, {"steps", 6}}},
                         {"model", model},
                         {"strategy", strategy},
                         {"ranks", 2},
                         {"epochs", 1},
                         {"warmup", 0}},
                        "");
}

Case event_case_of(std::int64_t events, const Json& model = {{"name", "tgn-attn"}}) {
  return case_from_json({{"workload", {{"name", "test-events"}, {"vertices", 30}, {"events", events}}},
                         {"model", model},
                         {"strategy", {{"name", "sequential"}, {"batch", 32}}},
                         {"task", {{"name", "future-links"}, {"candidates", "9"}}},
                         {"epochs", 1},
                         {"warmup", 0}},
                        "");
}

std::vector<Case> suite_of_one_graph() {
  std::vector<Case> cases;
  for (const char* model : {"tm-gcn", "cd-gcn", "dcrnn"})
    for (const char* strategy : {"vertex", "snapshot_groups", "hybrid_batch"})
      cases.push_back(snapshot_case(40, model, strategy));
  return cases;
}

TEST_F(DataCacheLoads, ASuiteLoadsAGraphOnce) {
  KeptPlans plans;
  for (const Case& c : suite_of_one_graph()) plans.get(c);
  for (const Case& c : suite_of_one_graph()) EXPECT_EQ(run_planned(plans.take(c), c).status, "ok");
  EXPECT_EQ(graphs_loaded, 1);
}

TEST_F(DataCacheLoads, ReportsOfOneRunLoadAGraphOnce) {
  const DataCache cache;
  for (const Case& c : suite_of_one_graph()) make_plan(c, PlanUse::report, cache);
  EXPECT_EQ(graphs_loaded, 1);
}

TEST_F(DataCacheLoads, ThreeGraphsOfSnapshotsAreKept) {
  const DataCache cache;
  const auto plan = [&](std::int64_t vertices) {
    make_plan(snapshot_case(vertices, "tm-gcn", "vertex"), PlanUse::run, cache);
  };
  for (const std::int64_t vertices : {40, 41, 42, 40, 41, 42}) plan(vertices);
  EXPECT_EQ(graphs_loaded, 3);
  for (const std::int64_t vertices : {43, 42, 41}) plan(vertices);
  EXPECT_EQ(graphs_loaded, 4) << "43 takes the place of 40";
  plan(40);
  EXPECT_EQ(graphs_loaded, 5);
}

TEST_F(DataCacheLoads, OneGraphOfEventsIsKept) {
  const DataCache cache;
  for (const std::int64_t events : {300, 300, 310, 310, 300}) make_plan(event_case_of(events), PlanUse::run, cache);
  EXPECT_EQ(graphs_loaded, 3);
}

TEST_F(DataCacheLoads, TwoRunsShareNothing) {
  const Case c = snapshot_case(40, "tm-gcn", "vertex");
  KeptPlans one, two;
  const auto first = one.get(c), second = two.get(c);
  EXPECT_EQ(graphs_loaded, 2);
  EXPECT_NE(first, second);
  make_plan(c);
  make_plan(c);
  EXPECT_EQ(graphs_loaded, 4);
}

TEST_F(DataCacheLoads, StaticMemoryIsSharedByCasesThatWantTheSame) {
  const DataCache cache;
  const Json model = {{"name", "tgn-attn"}, {"static", "pretrained"}, {"static_epochs", 1}};
  const auto memory = [&](Case c, std::int64_t threads, const std::string& precision) {
    c.threads = threads;
    c.precision = precision;
    return begin_event_case(c, cache).data.static_memory;
  };
  const auto first = memory(event_case_of(300, model), 1, "fp32");
  EXPECT_EQ(memory(event_case_of(300, model), 2, "fp32"), first) << "bits do not depend on threads";
  EXPECT_NE(memory(event_case_of(300, model), 1, "fp64"), first);
  EXPECT_EQ(graphs_loaded, 1);
}

std::atomic<int> squares_made = 0;

struct SquareKey {
  using Value = int;
  static constexpr std::size_t kept = 2;

  int number = 0;

  bool operator==(const SquareKey&) const = default;
  int make(const DataCache&) const {
    ++squares_made;
    if (number < 0) throw std::runtime_error("negative");
    return number * number;
  }
};

TEST(DataCache, KeepsWhatWasAskedForLast) {
  squares_made = 0;
  const DataCache cache;
  for (const int number : {2, 3, 2, 4, 2}) EXPECT_EQ(*cache.get(SquareKey{number}), number * number);
  EXPECT_EQ(squares_made, 3);
  cache.get(SquareKey{3});
  EXPECT_EQ(squares_made, 4) << "4 took the place of 3";
}

TEST(DataCache, KeepsNothingOfAValueThatCannotBeMade) {
  squares_made = 0;
  const DataCache cache;
  cache.get(SquareKey{2});
  EXPECT_THROW(cache.get(SquareKey{-1}), std::runtime_error);
  EXPECT_THROW(cache.get(SquareKey{-1}), std::runtime_error);
  cache.get(SquareKey{2});
  EXPECT_EQ(squares_made, 3);
}

TEST(DataCache, MakesAValueOnceForSeveralThreads) {
  squares_made = 0;
  const DataCache cache;
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const int>> found(8);
  for (auto& value : found) threads.emplace_back([&] { value = cache.get(SquareKey{7}); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& value : found) EXPECT_EQ(value, found.front());
  EXPECT_EQ(squares_made, 1);
}

}  // namespace
}  // namespace strobe
