// Whether another epoch may begin: all ranks get the same answer.
#include "harness/training/stop_check.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/system/interrupt.hpp"

namespace strobe {
namespace {

constexpr double no_time = 1e-9, much_time = 1e6;  // seconds

TEST(TimeLimits, TheFirstThatAsksAboutAStepDecides) {
  TimeLimit limit(no_time);
  EXPECT_FALSE(limit.up());
  EXPECT_TRUE(limit.up_before(0));
  EXPECT_TRUE(limit.up_before(0));
  EXPECT_TRUE(limit.up());
  TimeLimit ample(much_time);
  EXPECT_FALSE(ample.up_before(0));
  ample.set_up();
  EXPECT_TRUE(ample.up_before(0));
  TimeLimit none(0);
  EXPECT_FALSE(none.limited());
  EXPECT_FALSE(none.up_before(7));
}

TEST(TimeLimits, AStepThatBeganInTimeIsInTimeForEveryRank) {
  TimeLimit limit(0.5);
  ASSERT_FALSE(limit.up_before(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_FALSE(limit.up_before(0));  // a slower rank asks later about the same step
  EXPECT_TRUE(limit.up_before(1));
}

LaunchRequest three_ranks() {
  LaunchRequest request;
  request.ranks = 3;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  return request;
}

TEST(StopChecks, OfSeveralProcessesCloseTogether) {
  // A gate for each rank acts as a process with its own clock. Only the second rank's time is up.
  std::array<StopCheck, 3> gates{StopCheck{much_time, true}, StopCheck{no_time, true}, StopCheck{much_time, true}};
  std::atomic<int> open{0};
  const auto& local = CommunicatorRegistry::instance().find("local").value;
  local.launch(three_ranks(), [&](Device& device, Communicator& communicator) {
    open += gates[device.rank()].open(device, communicator, 0) ? 1 : 0;
  });
  EXPECT_EQ(open, 0);
  for (const StopCheck& gate : gates) EXPECT_TRUE(gate.closed());
}

TEST(StopChecks, ASignalClosesForAllRanksAtTheSameStep) {
  StopCheck gate(0, false);
  std::atomic<int> open{0};
  const auto& local = CommunicatorRegistry::instance().find("local").value;
  local.launch(three_ranks(), [&](Device& device, Communicator& communicator) {
    open += gate.open(device, communicator, 0) ? 1 : 0;
    communicator.barrier();
    if (device.rank() == 1) stop_after_epoch() = SIGUSR1;
    communicator.barrier();
    open += gate.open(device, communicator, 0) ? 10 : 0;  // decided before the signal came
    communicator.barrier();
    open += gate.open(device, communicator, 1) ? 100 : 0;
  });
  stop_after_epoch() = 0;
  EXPECT_EQ(open, 33);
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(gate.signal(), SIGUSR1);
}

TEST(StopChecks, StayOpenWhileThereIsTime) {
  for (const double limit : {0.0, much_time}) {
    StopCheck gate(limit, true);
    std::atomic<int> open{0};
    const auto& local = CommunicatorRegistry::instance().find("local").value;
    local.launch(three_ranks(), [&](Device& device, Communicator& communicator) {
      for (int step = 0; step < 3; ++step) open += gate.open(device, communicator, step) ? 1 : 0;
    });
    EXPECT_EQ(open, 9);
    EXPECT_FALSE(gate.closed());
  }
}

}  // namespace
}  // namespace strobe
