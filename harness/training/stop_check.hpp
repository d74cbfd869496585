// Decides before each epoch whether it may begin.
#pragma once

#include <cstdint>
#include <mutex>

#include "backends/communicator.hpp"
#include "backends/time_limit.hpp"

namespace strobe {

/// Lets epochs begin until the time limit of the case is over, or until a signal asks training to stop between two
/// epochs (stop_after_epoch). All ranks get the same answer.
class StopCheck {
 public:
  /// `several_processes`: the ranks of the case run in several processes, so all ranks vote before each epoch. Clocks
  /// of processes differ, and a signal may reach only one of them. Pass false when nothing can close the gate.
  StopCheck(double limit_seconds, bool several_processes) : limit_(limit_seconds), votes_(several_processes) {}
  ~StopCheck();
  StopCheck(const StopCheck&) = delete;
  StopCheck& operator=(const StopCheck&) = delete;

  /// Whether the epoch with the running number `step` may begin. All ranks must call this before each epoch, in order.
  bool open(Device& device, Communicator& communicator, std::int64_t step);

  /// Reports the duration of the last epoch. When ranks run in several processes, one of them may be gone, and the
  /// others would wait for it forever. So after a signal, the current epoch may go on for about twice this duration.
  void epoch_took(double seconds);

  bool closed() const { return limit_.up() || signal() != 0; }
  /// The signal that closed the gate, the same in every process, or 0.
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
