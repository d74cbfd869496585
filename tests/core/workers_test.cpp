// Workers: every task once, and none after one that failed.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/system/parallel.hpp"

namespace strobe {
namespace {

TEST(Workers, DoEachTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    Workers workers(threads);
    std::vector<std::atomic<int>> done(1000);
    for (int round = 0; round < 3; ++round) workers.run(1000, [&](std::int64_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times.load(), 3);
  }
}

TEST(Workers, AFailedTaskStopsThoseThatAreNotBegun) {
  for (const int threads : {1, 2, 5}) {
    Workers workers(threads);
    std::atomic<int> begun{0};
    const auto task = [&](std::int64_t i) {
      ++begun;
      if (i == 3) throw std::runtime_error("the fourth");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    };
    try {
      workers.run(100000, task);
      FAIL() << "the failure was lost";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "the fourth");
    }
    EXPECT_LT(begun.load(), 1000);
    std::atomic<int> later{0};
    workers.run(50, [&](std::int64_t) { ++later; });  // a failure is over with its run
    EXPECT_EQ(later.load(), 50);
  }
}

/// Cores of the caller and its helper in a region that both take part in. `first` runs on the helper before it looks.
std::pair<int, int> cores_of_region(Workers& workers, const std::function<void(int)>& first) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> begun{0}, callers{-1}, helpers{-1};
  workers.run(2, [&](std::int64_t) {
    ++begun;
    if (std::this_thread::get_id() == caller) callers = sched_getcpu();
    while (begun != 2 || callers < 0) std::this_thread::yield();
    if (std::this_thread::get_id() == caller) return;
    first(callers);
    helpers = sched_getcpu();
  });
  return {callers, helpers};
}

/// The system leaves a helper on its caller's core, where both yield to each other and never sleep.
TEST(Workers, AHelperSoonLeavesTheCallersCore) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core";
  Workers workers(2);
  const auto [core, joined] = cores_of_region(workers, [&](int callers) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(callers, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  });
  EXPECT_EQ(core, joined);
  int together = 0;
  for (bool apart = false; !apart && together < 200; ++together) {
    const auto [callers, helpers] = cores_of_region(workers, [](int) {});
    apart = callers != helpers;
  }
  EXPECT_LT(together, 200);
}

}  // namespace
}  // namespace strobe
