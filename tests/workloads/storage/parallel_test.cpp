// Tasks of workloads. When several fail, the first one's error is reported, even if another failed earlier in time. No
// task after it is begun.
#include "workloads/storage/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

TEST(ParallelTasks, TheErrorOfTheFirstFailedTaskIsReported) {
  for (const int threads : {1, 2, 7}) {
    const test::Threads limit(threads);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> begun{0};
      const auto task = [&](std::int64_t i) {
        ++begun;
        if (i < 5) return;
        if (i == 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // later tasks fail before it
        throw std::runtime_error(std::to_string(i));
      };
      try {
        parallel_tasks(100000, task);
        FAIL() << "the failure was lost";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()), "5");
      }
      EXPECT_LT(begun.load(), 1000);
    }
  }
}

}  // namespace
}  // namespace strobe
