// Runs fibres in the order of their virtual clocks; of equal clocks the smaller actor goes first. Invariant: an actor
// is running, ready, waiting for the others to catch up, blocked or finished. Cost: O(log actors) per switch.
#include "backends/sim/scheduler.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"

namespace strobe::sim {

Scheduler::Scheduler(int actors, ScheduleOrder order, std::function<double(int)> clock, std::function<void()> stuck)
    : actors_(actors),
      order_(order),
      clock_(std::move(clock)),
      stuck_(std::move(stuck)),
      blocked_(static_cast<std::size_t>(actors), false) {}

void Scheduler::make_ready(int actor) {
  ready_.insert({order_ == ScheduleOrder::smallest_clock ? clock_(actor) : -static_cast<double>(actor), actor});
}

int Scheduler::take_next() {
  if (!watching_.empty()) {
    double earliest = std::numeric_limits<double>::infinity();  // of those that can go on
    if (order_ == ScheduleOrder::smallest_clock && !ready_.empty()) {
      earliest = ready_.begin()->first;
    } else {
      for (const auto& entry : ready_) earliest = std::min(earliest, clock_(entry.second));
    }
    if (watching_.begin()->first < earliest) {
      const int actor = watching_.begin()->second;
      watching_.erase(watching_.begin());
      return actor;
    }
  }
  const int actor = ready_.begin()->second;
  ready_.erase(ready_.begin());
  return actor;
}

void Scheduler::run(const std::function<void(int)>& body) {
  for (int actor = 0; actor < actors_; ++actor) {
    fibres_.push_back(std::make_unique<Fibre>([&body, actor] { body(actor); }));
  }
  for (int actor = 0; actor < actors_; ++actor) make_ready(actor);
  int unfinished = actors_;
  while (unfinished > 0) {
    if (ready_.empty() && watching_.empty()) stuck_();
    if (ready_.empty() && watching_.empty()) throw Error("simulated ranks are blocked and nobody was woken");
    Fibre& fibre = *fibres_[take_next()];
    fibre.resume();
    if (fibre.finished()) --unfinished;
  }
}

void Scheduler::block(int actor) {
  blocked_[actor] = true;
  fibres_[actor]->suspend();
}

void Scheduler::catch_up(int actor, double seconds) {
  watching_.insert({seconds, actor});
  fibres_[actor]->suspend();
}

void Scheduler::wake(int actor) {
  if (!blocked_[actor]) return;
  blocked_[actor] = false;
  make_ready(actor);
}

}  // namespace strobe::sim
