// Runs fibres in the order of their virtual clocks; of equal clocks the smaller rank goes first. Invariant: a rank is
// running, ready, blocked or finished. Cost: O(log ranks) per switch.
#include "backends/sim/scheduler.hpp"

#include "core/errors.hpp"

namespace strobe::sim {

Scheduler::Scheduler(int ranks, ScheduleOrder order, std::function<double(int)> clock, std::function<void()> stuck)
    : ranks_(ranks), order_(order), clock_(std::move(clock)), stuck_(std::move(stuck)),
      blocked_(static_cast<std::size_t>(ranks), false) {}

void Scheduler::make_ready(int rank) {
  ready_.insert({order_ == ScheduleOrder::smallest_clock ? clock_(rank) : -static_cast<double>(rank), rank});
}

void Scheduler::run(const std::function<void(int)>& body) {
  for (int rank = 0; rank < ranks_; ++rank) {
    fibres_.push_back(std::make_unique<Fibre>([&body, rank] { body(rank); }));
  }
  for (int rank = 0; rank < ranks_; ++rank) make_ready(rank);
  int unfinished = ranks_;
  while (unfinished > 0) {
    if (ready_.empty()) stuck_();
    if (ready_.empty()) throw Error("simulated ranks are blocked and nobody was woken");
    const int rank = ready_.begin()->second;
    ready_.erase(ready_.begin());
    Fibre& fibre = *fibres_[static_cast<std::size_t>(rank)];
    fibre.resume();
    if (fibre.finished()) --unfinished;
  }
}

void Scheduler::block(int rank) {
  blocked_[static_cast<std::size_t>(rank)] = true;
  fibres_[static_cast<std::size_t>(rank)]->suspend();
}

void Scheduler::wake(int rank) {
  if (!blocked_[static_cast<std::size_t>(rank)]) return;
  blocked_[static_cast<std::size_t>(rank)] = false;
  make_ready(rank);
}

}  // namespace strobe::sim
