// The user's wish to stop. The signal handler only sets a flag; long loops and collectives ask for it.
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace strobe {

/// Signals that ask the program to stop: a terminal's, and those that job schedulers send before they end a job.
inline constexpr std::array<int, 6> signals_that_stop = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

/// The signal that asked the program to stop, or 0. Set by the handler that harness/cli installs.
inline std::atomic<int>& stop_signal() {
  static std::atomic<int> signal{0};
  return signal;
}

/// The signal that asked training to stop when the epoch under way is over, or 0. Nobody but the loop over epochs looks
/// at it, so that collectives of this epoch go on.
inline std::atomic<int>& stop_after_epoch() {
  static std::atomic<int> signal{0};
  return signal;
}

/// How long that signal lets the epoch under way go on before it becomes `stop_signal()`, in milliseconds; 0 = to its
/// end. Set where a rank may wait for one in another process that is gone.
inline std::atomic<std::int64_t>& epoch_patience_milliseconds() {
  static std::atomic<std::int64_t> patience{0};
  return patience;
}

}  // namespace strobe
