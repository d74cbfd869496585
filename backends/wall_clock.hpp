// The machine's clock, from which spans take their times.
#pragma once

#include <chrono>

namespace strobe {

/// Seconds since a fixed moment before the program began; never goes back.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace strobe
