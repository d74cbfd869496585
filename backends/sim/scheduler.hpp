// Scheduler: runs the ranks of one job as fibres of the calling thread, one at a time.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "backends/sim/fibre.hpp"

namespace strobe::sim {

/// Which of the ranks that can go on goes on. Virtual times do not depend on it; `largest_rank` exists to show that.
enum class ScheduleOrder { smallest_clock, largest_rank };

class Scheduler {
 public:
  /// `clock(rank)` is the rank's virtual time in seconds; `stuck` is called when every unfinished rank is blocked and
  /// must wake at least one of them.
  Scheduler(int ranks, ScheduleOrder order, std::function<double(int)> clock, std::function<void()> stuck);

  /// Runs `body(rank)` for every rank and returns when all are finished. `body` must not throw.
  void run(const std::function<void(int)>& body);

  /// Suspends `rank`, which must be the one that is running, until `wake(rank)`.
  void block(int rank);
  /// Lets a blocked rank go on later; nothing happens when it is not blocked.
  void wake(int rank);
  bool blocked(int rank) const { return blocked_[static_cast<std::size_t>(rank)]; }
  bool finished(int rank) const { return fibres_[static_cast<std::size_t>(rank)]->finished(); }

 private:
  void make_ready(int rank);

  int ranks_;
  ScheduleOrder order_;
  std::function<double(int)> clock_;
  std::function<void()> stuck_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<bool> blocked_;
  std::set<std::pair<double, int>> ready_;  // by priority, then rank
};

}  // namespace strobe::sim
