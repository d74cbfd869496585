// A case is planned once: the plan that checked a suite is used for its run, within the memory for kept plans.
#include "harness/run/kept_plans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/errors.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

std::atomic<int> times_planned = 0;

StrategyPlan plan_counted(const StrategyInput& input, const Json& parameters) {
  ++times_planned;
  return StrategyRegistry::instance().find("vertex").value(input, parameters);
}

/// Registered only for these tests, because other tests loop over the registry.
void register_counted() {
  if (StrategyRegistry::instance().contains("test-counted")) return;
  StrategyRegistry::instance().add({"test-counted",
                                    "vertex, counting how often it is asked",
                                    "",
                                    StrategyRegistry::instance().find("vertex").parameters,
                                    plan_counted,
                                    {}});
}

Case counted_case(std::int64_t seed) {
  return case_from_json({{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 6}, {"density", 2}}},
                         {"strategy", "test-counted"},
                         {"ranks", 2},
                         {"epochs", 1},
                         {"warmup", 0},
                         {"seed", seed}},
                        "");
}

TEST(KeptPlans, ACaseIsPlannedOnce) {
  register_counted();
  times_planned = 0;
  KeptPlans plans;
  const Case one = counted_case(1), two = counted_case(2);
  const auto checked = plans.get(one);
  plans.get(two);
  EXPECT_EQ(plans.get(one), checked);
  const auto taken = plans.take(one);
  EXPECT_EQ(taken, checked);
  EXPECT_EQ(run_planned(taken, one).status, "ok");
  EXPECT_EQ(times_planned, 2);
  EXPECT_NE(plans.get(one), checked) << "it was taken";
  EXPECT_EQ(times_planned, 3);
}

TEST(KeptPlans, BeyondItsMemoryACaseIsPlannedAgain) {
  register_counted();
  times_planned = 0;
  const Case one = counted_case(1), two = counted_case(2);
  const std::uint64_t size = KeptPlans().get(one)->schedule->summary().kept_bytes;
  EXPECT_GT(size, 40u * 6u);
  KeptPlans plans(size);
  times_planned = 0;
  plans.get(one);
  plans.get(two);
  EXPECT_EQ(times_planned, 2);
  plans.get(one);
  EXPECT_EQ(times_planned, 2);
  plans.get(two);
  EXPECT_EQ(times_planned, 3);
  plans.take(one);
  plans.get(two);
  plans.get(two);
  EXPECT_EQ(times_planned, 4) << "there is room where a plan was taken";
}

TEST(KeptPlans, UnderALimitOfHostMemoryNoOtherPlanIsInMemory) {
  register_counted();
  Case one = counted_case(1), two = counted_case(2);
  one.host_memory_limit_gib = two.host_memory_limit_gib = 1;
  times_planned = 0;
  KeptPlans plans;
  const std::weak_ptr<const PlannedCase> first = plans.get(one);
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(plans.get(one), first.lock());
  const auto second = plans.get(two);
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(plans.take(two), second);
  EXPECT_EQ(times_planned, 2);
  plans.take(one);
  EXPECT_EQ(times_planned, 3);
}

TEST(KeptPlans, NoOtherPlanIsInMemoryWhileACaseWithALimitTrains) {
  register_counted();
  Case limited = counted_case(1);
  limited.host_memory_limit_gib = 1;
  KeptPlans plans;
  plans.get(limited);
  const std::weak_ptr<const PlannedCase> other = plans.get(counted_case(2));
  EXPECT_FALSE(other.expired());
  plans.take(limited);
  EXPECT_TRUE(other.expired());
}

Case fused_case(const char* memory) {
  constexpr double gib = 30.0 / (1024 * 1024);
  return case_from_json(
      {{"workload", {{"name", "uniform"}, {"vertices", 31}, {"steps", 7}, {"density", 2}}},
       {"model", "t-gcn"},
       {"strategy",
        {{"name", "chunk"}, {"max_cells", "9"}, {"fusion", "both"}, {"fusion_gib", gib}, {"fusion_memory", memory}}},
       {"ranks", 2},
       {"epochs", 1},
       {"warmup", 0},
       {"host_memory_limit_gib", 1}},
      "");
}

/// The plan that is checked before training is made again after the epoch that measures chunks.
TEST(KeptPlans, AMeasuredPlanIsCheckedInPlaceOfThePlanBefore) {
  for (const char* memory : {"planned", "measured"}) {
    const Case c = fused_case(memory);
    KeptPlans plans;
    int checks = 0;
    const CaseResult result = run_planned(plans.take(c), c, nullptr, {}, 0, {}, {}, [&](const auto& measured) {
      ++checks;
      EXPECT_FALSE(full_batch(*measured).fusion->to_measure);
      return plans.checked(measured);
    });
    EXPECT_EQ(result.status, "ok") << result.reason;
    EXPECT_EQ(checks, memory == std::string("measured") ? 1 : 0);
    EXPECT_EQ(std::count_if(result.notes.begin(), result.notes.end(),
                            [](const std::string& note) { return note.starts_with(host_limit_note); }),
              1);
  }
}

/// The number of bytes that follows `words` in the notes of a plan, as in "takes 193 kB".
double noted_bytes(const PlannedCase& plan, const std::string& words) {
  for (const std::string& note : plan.notes) {
    const std::size_t at = note.find(words);
    if (at == std::string::npos) continue;
    std::istringstream rest(note.substr(at + words.size()));
    double number = 0;
    std::string unit;
    rest >> number >> unit;
    return number * (unit == "MB" ? 1e6 : unit == "kB" ? 1e3 : 1);
  }
  return 0;
}

TEST(KeptPlans, TheEpochThatMeasuresChunksKeepsWithinTheLimit) {
  Case c = fused_case("measured");
  KeptPlans plans;
  const auto plan = plans.get(c);
  const double training = noted_bytes(*plan, "planned to take "), epoch = noted_bytes(*plan, "measures chunks takes ");
  EXPECT_GT(training, 0);
  ASSERT_GT(epoch, 1.05 * training) << "chunks that are walked one by one take more";
  EXPECT_EQ(noted_bytes(*plans.get(fused_case("planned")), "measures chunks takes "), 0);
  c.host_memory_limit_gib = (training + epoch) / 2 / (1 << 30);
  try {
    KeptPlans().get(c);
    ADD_FAILURE() << "it was not refused";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), host_limit_place);
    EXPECT_NE(std::string(error.what()).find("in the epoch of fusion_memory=measured"), std::string::npos)
        << error.what();
  }
}

TEST(KeptPlans, AMeasuredPlanBeyondTheLimitIsNotTrained) {
  const Case c = fused_case("measured");
  KeptPlans plans;
  int told = 0;
  const auto beyond = [&](const std::shared_ptr<const PlannedCase>& measured) {
    PlannedCase tight = *measured;
    tight.request.host_memory_limit_gib = 1e-6;
    return plans.checked(std::make_shared<const PlannedCase>(std::move(tight)));
  };
  try {
    run_planned(
        plans.take(c), c, nullptr, {}, 0, {}, [&](int, std::int64_t, double) { ++told; }, beyond);
    ADD_FAILURE() << "it was not refused";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), host_limit_place);
  }
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace strobe
