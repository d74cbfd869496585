// Waits for the other processes of a launch inside calls that cannot be left, such as MPI_Init and MPI_Finalize. A
// thread of this process watches these calls, and ends the process when one takes too long.
#pragma once

#include <algorithm>

#include "backends/wall_clock.hpp"

namespace strobe {

/// Time since its construction, read often. A pause of more than a second counts as one second. In a longer pause this
/// process itself was suspended, for example by a scheduler, and the others may have been too.
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

/// How long the processes of a launch wait for each other outside collectives: while they join, agree, write and leave.
inline constexpr double least_launch_wait_seconds = 5;  // starting processes takes as long
inline constexpr double usual_launch_wait_seconds = 60;
void limit_launch_waits(double seconds);  // never below the least
double launch_wait_seconds();

/// While one lives, this process is in such a call. After launch_wait_seconds() in it, by judge_wait, the lowest
/// running rank prints what the process was doing and who is missing. Then the process ends: with status 1, or 128 +
/// signal if a signal had come. Time in which this process itself is suspended does not count. One at a time.
class LaunchWait {
 public:
  /// `doing` completes "rank 0 of 2: ... takes longer than 5 s"; `elsewhere_works` is judge_wait's.
  explicit LaunchWait(const char* doing, bool elsewhere_works = false);
  ~LaunchWait();
  LaunchWait(const LaunchWait&) = delete;
  LaunchWait& operator=(const LaunchWait&) = delete;
};

/// Call this last, when MPI is finalised: it returns when all others of this machine are about to end, or have ended.
/// The launcher waits for every process, so a process suspended in its last steps would block it for ever. After
/// launch_wait_seconds() the others name that process and end with status 1, and the launcher then ends it.
void leave_with_others();

}  // namespace strobe
