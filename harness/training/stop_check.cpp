// Cost: two comparisons in one process; with several processes, also one all-reduce of a few numbers. The gate is asked
// between epochs, so neither the times nor the bytes of an epoch include it.
#include "harness/training/stop_check.hpp"

#include <algorithm>
#include <array>

#include "core/system/interrupt.hpp"

namespace strobe {

StopCheck::~StopCheck() { epoch_patience_milliseconds() = 0; }

void StopCheck::epoch_took(double seconds) {
  constexpr std::int64_t least = 300;  // milliseconds; mpirun waits one second between SIGTERM and SIGKILL
  if (votes_) epoch_patience_milliseconds() = least + static_cast<std::int64_t>(2000 * seconds);
}

int StopCheck::signal() const {
  const std::lock_guard lock(mutex_);
  return signal_;
}

/// All ranks of a process get the same answer for a step, because the first rank that asks decides.
int StopCheck::signal_before(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (step > asked_) {
    asked_ = step;
    if (signal_ == 0) signal_ = stop_after_epoch().load();
  }
  return signal_;
}

bool StopCheck::open(Device& device, Communicator& communicator, std::int64_t step) {
  const bool up = limit_.up_before(step);
  const int signal = signal_before(step);
  if (!votes_) return !up && signal == 0;
  std::array<double, 1 + signals_that_stop.size()> votes{};  // one for the time limit, then one per signal
  votes[0] = up ? 1 : 0;
  for (std::size_t i = 0; i < signals_that_stop.size(); ++i) votes[i + 1] = signals_that_stop[i] == signal ? 1 : 0;
  const std::int64_t count = votes.size();
  const Tensor sums = device.move_in(votes.data(), count, 1, ElementType::f64);
  communicator.all_reduce(sums, Traffic::other);
  device.move_out(sums, votes.data());
  if (votes[0] > 0) limit_.set_up();
  for (std::size_t i = 0; i < signals_that_stop.size(); ++i) {
    if (!(votes[i + 1] > 0)) continue;
    const std::lock_guard lock(mutex_);
    signal_ = signals_that_stop[i];
    epoch_patience_milliseconds() = 0;
    break;
  }
  return !closed();
}

}  // namespace strobe
