// Workers: every task once, and none after one that failed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
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

}  // namespace
}  // namespace strobe
