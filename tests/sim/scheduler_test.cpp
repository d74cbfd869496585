#include "backends/sim/scheduler.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace strobe::sim {
namespace {

/// Actors whose clocks the test sets, and what they did in which order.
struct ScheduledActors {
  std::vector<double> clocks;
  std::vector<std::string> done;
  std::unique_ptr<Scheduler> scheduler;

  explicit ScheduledActors(std::vector<double> begin, ScheduleOrder order = ScheduleOrder::smallest_clock)
      : clocks(std::move(begin)) {
    scheduler = std::make_unique<Scheduler>(
        static_cast<int>(clocks.size()), order, [this](int actor) { return clocks[actor]; },
        [this] {
          done.push_back("stuck");
          scheduler->wake(0);
        });
  }
  void say(int actor, const std::string& what) { done.push_back(std::to_string(actor) + " " + what); }
  /// Every actor only says that it ran.
  std::vector<std::string> run_each() {
    scheduler->run([this](int actor) { say(actor, "runs"); });
    return done;
  }
  /// `watcher` waits until the others have reached `seconds`; the others only run.
  std::vector<std::string> run_with_watcher(int watcher, double seconds) {
    scheduler->run([&](int actor) {
      say(actor, "runs");
      if (actor != watcher) return;
      scheduler->catch_up(actor, seconds);
      say(actor, "goes on");
    });
    return done;
  }
};

using Steps = std::vector<std::string>;

TEST(SimScheduler, SmallestClockGoesFirstAndOfEqualClocksTheSmallerActor) {
  EXPECT_EQ(ScheduledActors({5, 5, 1}).run_each(), (Steps{"2 runs", "0 runs", "1 runs"}));
}

TEST(SimScheduler, LargestRankIsTheOtherOrderWhateverTheClocks) {
  EXPECT_EQ(ScheduledActors({0, 1, 2}, ScheduleOrder::largest_rank).run_each(), (Steps{"2 runs", "1 runs", "0 runs"}));
  EXPECT_EQ(ScheduledActors({5, 5, 1}, ScheduleOrder::largest_rank).run_each(), (Steps{"2 runs", "1 runs", "0 runs"}));
  EXPECT_EQ(ScheduledActors({0, 1, 2}).run_each(), (Steps{"0 runs", "1 runs", "2 runs"}));
}

TEST(SimScheduler, OneThatWaitsGoesAfterAReadyOneOfTheSameTime) {
  EXPECT_EQ(ScheduledActors({0, 1}).run_with_watcher(0, 1), (Steps{"0 runs", "1 runs", "0 goes on"}));
  EXPECT_EQ(ScheduledActors({1, 0}, ScheduleOrder::largest_rank).run_with_watcher(1, 1),
            (Steps{"1 runs", "0 runs", "1 goes on"}));
}

TEST(SimScheduler, OneThatWaitsGoesBeforeAReadyOneOfALaterTime) {
  EXPECT_EQ(ScheduledActors({0, 1.5}).run_with_watcher(0, 1), (Steps{"0 runs", "0 goes on", "1 runs"}));
  EXPECT_EQ(ScheduledActors({1.5, 0}, ScheduleOrder::largest_rank).run_with_watcher(1, 1),
            (Steps{"1 runs", "1 goes on", "0 runs"}));
}

/// The smallest clock of all ready ones counts, and not that of the one that would go next.
TEST(SimScheduler, OneThatWaitsLetsAllEarlierOnesGoFirstInTheOtherOrderToo) {
  EXPECT_EQ(ScheduledActors({0.5, 9, 0}, ScheduleOrder::largest_rank).run_with_watcher(2, 1),
            (Steps{"2 runs", "1 runs", "0 runs", "2 goes on"}));
}

TEST(SimScheduler, OfTwoThatWaitTheEarlierGoesOnFirst) {
  ScheduledActors actors({0, 0});
  actors.scheduler->run([&](int actor) {
    actors.scheduler->catch_up(actor, actor == 0 ? 2 : 1);
    actors.say(actor, "goes on");
  });
  EXPECT_EQ(actors.done, (Steps{"1 goes on", "0 goes on"}));
}

TEST(SimScheduler, BlockedUntilWokenAndStuckOnlyWhenAllAreBlocked) {
  ScheduledActors actors({0, 1});
  actors.scheduler->run([&](int actor) {
    EXPECT_FALSE(actors.scheduler->blocked(actor));
    actors.scheduler->wake(actor);  // is not blocked, so nothing happens
    EXPECT_EQ(actors.scheduler->blocked(0), actor == 1);
    actors.say(actor, "blocks");
    actors.scheduler->block(actor);
    actors.say(actor, "goes on");
    if (actor == 0) actors.scheduler->wake(1);
  });
  EXPECT_EQ(actors.done, (Steps{"0 blocks", "1 blocks", "stuck", "0 goes on", "1 goes on"}));
  EXPECT_TRUE(actors.scheduler->finished(0) && actors.scheduler->finished(1));
}

TEST(SimScheduler, BlockedForEverIsAnError) {
  int asked = 0;
  Scheduler scheduler(
      1, ScheduleOrder::smallest_clock, [](int) { return 0.0; }, [&] { ++asked; });
  EXPECT_THROW(scheduler.run([&](int actor) { scheduler.block(actor); }), Error);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace strobe::sim
