// The user's request to stop. The signal handler only sets a flag; long loops and collectives read it.
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

/// The signal that asked training to stop after the current epoch, or 0. Only the loop over epochs reads it, so the
/// collectives of the current epoch continue.
inline std::atomic<int>& stop_after_epoch() {
  static std::atomic<int> signal{0};
  return signal;
}

/// How long the current epoch may go on after that signal before it becomes `stop_signal()`, in milliseconds; 0 = until
/// the epoch ends. Set where a rank may wait for a rank in another process that is gone.
inline std::atomic<std::int64_t>& epoch_patience_milliseconds() {
  static std::atomic<std::int64_t> patience{0};
  return patience;
}

}  // namespace strobe
