// Whether another epoch may begin.
#pragma once

#include <cstdint>
#include <mutex>

#include "backends/communicator.hpp"
#include "backends/time_limit.hpp"

namespace strobe {

/// Lets epochs begin, on all ranks alike, while the time limit of the case lasts and no signal asks training to stop
/// between two epochs (stop_after_epoch).
class EpochGate {
 public:
  /// `several_processes`: the ranks of the case live in more than one, whose clocks differ and of which a signal may
  /// reach one alone: they vote before each epoch. To be left out where nothing can close the gate.
  EpochGate(double limit_seconds, bool several_processes) : limit_(limit_seconds), votes_(several_processes) {}
  ~EpochGate();
  EpochGate(const EpochGate&) = delete;
  EpochGate& operator=(const EpochGate&) = delete;

  /// Whether the epoch with the running number `step` may begin. All ranks must ask, before each epoch, in order.
  bool open(Device& device, Communicator& communicator, std::int64_t step);

  /// An epoch took so many seconds. Of several processes one may be gone, and then the others' epoch has no end: a
  /// signal lets it go on for twice as long.
  void epoch_took(double seconds);

  bool closed() const { return limit_.up() || signal() != 0; }
  /// The signal that closed it, the same in every process, or 0.
  int signal() const;
  double limit_seconds() const { return limit_.seconds(); }

 private:
  int signal_before(std::int64_t step);

  TimeLimit limit_;
  const bool votes_;
  mutable std::mutex mutex_;
  std::int64_t asked_ = -1;
  int signal_ = 0;
};

}  // namespace strobe
