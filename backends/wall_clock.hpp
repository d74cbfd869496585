// The machine's clock, of which spans are made.
#pragma once

#include <chrono>

namespace strobe {

/// Seconds since some moment before the program began; never goes back.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace strobe
