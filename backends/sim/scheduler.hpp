// Scheduler: runs the actors of one job, its ranks and their helpers, as fibres of the calling thread, one at a time.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "backends/sim/fibre.hpp"

namespace strobe::sim {

/// The order among actors that can run. Virtual times do not depend on it; `largest_rank` exists to show that.
enum class ScheduleOrder { smallest_clock, largest_rank };

class Scheduler {
 public:
  /// `clock(actor)` is the virtual time that the actor has reached, in seconds: nothing that it does from now on is
  /// earlier. `stuck` is called when every unfinished actor is blocked and must wake at least one of them.
  Scheduler(int actors, ScheduleOrder order, std::function<double(int)> clock, std::function<void()> stuck);

  /// Runs `body(actor)` for every actor and returns when all are finished. `body` must not throw.
  void run(const std::function<void(int)>& body);

  /// Suspends `actor`, which must be running, until `wake(actor)`.
  void block(int actor);
  /// Suspends `actor`, which must be running, until no other runnable actor has a clock of `seconds` or less.
  void catch_up(int actor, double seconds);
  /// Lets a blocked actor run again later; does nothing when it is not blocked.
  void wake(int actor);
  bool blocked(int actor) const { return blocked_[actor]; }
  bool finished(int actor) const { return fibres_[actor]->finished(); }

 private:
  void make_ready(int actor);
  int take_next();

  int actors_;
  ScheduleOrder order_;
  std::function<double(int)> clock_;
  std::function<void()> stuck_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<bool> blocked_;
  std::set<std::pair<double, int>> ready_;     // by priority, then actor
  std::set<std::pair<double, int>> watching_;  // actors that wait for the others to catch up, by time, then actor
};

}  // namespace strobe::sim
