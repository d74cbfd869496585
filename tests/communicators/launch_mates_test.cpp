// When a wait for the other processes of a launch ends, and which process the message names.
#include "backends/launch_mates.hpp"

#include <gtest/gtest.h>

#include "backends/launch_wait.hpp"

namespace strobe {
namespace {

using enum MateState;

TEST(LaunchMates, OneThatStandsStillIsNamedAtTheLimit) {
  const LaunchMates mates{0, {running, stopped, running}, true};
  EXPECT_FALSE(judge_wait(mates, 4.9, 5, false).over);
  const WaitVerdict verdict = judge_wait(mates, 5, 5, false);
  EXPECT_TRUE(verdict.over);
  EXPECT_EQ(verdict.words, "rank 1 (stopped)");
  EXPECT_EQ(verdict.blamed, std::vector<int>{1});
}

TEST(LaunchMates, ThoseThatRunGetTenTimesAsLong) {
  const LaunchMates two{1, {running, running}, true};
  EXPECT_FALSE(judge_wait(two, 49.9, 5, false).over);
  EXPECT_TRUE(judge_wait(two, 50, 5, false).over);
  EXPECT_EQ(judge_wait(two, 50, 5, false).words, "rank 0 (runs)");
}

TEST(LaunchMates, OneThatIsUnseenIsGoneOrElsewhere) {
  const LaunchMates here{0, {running, unseen}, true}, elsewhere{0, {running, unseen}, false};
  EXPECT_EQ(judge_wait(here, 5, 5, true).words, "rank 1 (gone)");
  EXPECT_EQ(judge_wait(elsewhere, 5, 5, false).words, "rank 1 (not heard from)");
  EXPECT_FALSE(judge_wait(elsewhere, 5, 5, true).over) << "it may still write";
  EXPECT_TRUE(judge_wait(elsewhere, 50, 5, true).over);
}

TEST(LaunchMates, TheLowestThatRunsSpeaks) {
  EXPECT_EQ((LaunchMates{2, {stopped, unseen, running, running}, true}).lowest_running(), 2);
  EXPECT_EQ((LaunchMates{2, {left, unseen, running}, true}).lowest_running(), 0);
  EXPECT_EQ((LaunchMates{1, {}, false}).lowest_running(), 1);
}

TEST(LaunchWaits, HaveALeastLimit) {
  const double before = launch_wait_seconds();
  EXPECT_EQ(before, usual_launch_wait_seconds);
  limit_launch_waits(0.001);
  EXPECT_EQ(launch_wait_seconds(), least_launch_wait_seconds);
  limit_launch_waits(90);
  EXPECT_EQ(launch_wait_seconds(), 90);
  limit_launch_waits(before);
}

}  // namespace
}  // namespace strobe
