// Waits for the other processes of a launch inside calls that nobody can leave, such as MPI_Init and MPI_Finalize. A
// thread of this process watches them, and ends it where one takes too long.
#pragma once

#include <algorithm>

#include "backends/wall_clock.hpp"

namespace strobe {

/// Time since its construction, looked at often. A pause of more than a second counts as one: the process stood still
/// itself then, as one does that a scheduler suspends, and the others may have, too.
class WaitedTime {
 public:
  double seconds() {
    constexpr double most = 1;
    const double now = wall_seconds();
    waited_ += std::min(now - before_, most);
    before_ = now;
    return waited_;
  }

 private:
  double waited_ = 0, before_ = wall_seconds();
};

/// How long the processes of a launch wait for each other where no collective is under way: while they join, agree,
/// write and leave.
inline constexpr double least_launch_wait_seconds = 5;  // to start processes takes as long
inline constexpr double usual_launch_wait_seconds = 60;
void limit_launch_waits(double seconds);  // never below the least
double launch_wait_seconds();

/// While one lives, this process is in such a call. After launch_wait_seconds() in it, by judge_wait, the lowest rank
/// that runs says what the process was doing and who is missing, and the process ends: with status 1, or 128 + signal
/// where a signal had come. Time in which the process stands still itself does not count. One at a time.
class LaunchWait {
 public:
  /// `doing` completes "rank 0 of 2: ... takes longer than 5 s"; `elsewhere_works` is judge_wait's.
  explicit LaunchWait(const char* doing, bool elsewhere_works = false);
  ~LaunchWait();
  LaunchWait(const LaunchWait&) = delete;
  LaunchWait& operator=(const LaunchWait&) = delete;
};

/// To be called last, when MPI is finalised: returns when all others of this machine are about to end, too, or have.
/// The launcher waits for every process, and a process that stands still in its last steps would be waited for without
/// end: after launch_wait_seconds() the others name it and end with status 1, upon which the launcher ends it.
void leave_with_others();

}  // namespace strobe
