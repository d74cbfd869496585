// The user's wish to stop. The signal handler only sets a flag; long loops and collectives ask for it.
#pragma once

#include <atomic>

namespace strobe {

/// The signal that asked the program to stop, or 0. Set by the handler that harness/cli installs.
inline std::atomic<int>& stop_signal() {
  static std::atomic<int> signal{0};
  return signal;
}

}  // namespace strobe
