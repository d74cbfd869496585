// Limits how often cheap but frequent chances, such as progress reports, are taken.
#pragma once

#include <limits>

#include "backends/wall_clock.hpp"

namespace strobe {

/// Says when a given number of seconds of wall time have gone by.
class TimeInterval {
 public:
  explicit TimeInterval(double seconds) : seconds_(seconds) {}

  /// True at the first call, and then once `seconds` have gone by since a call that returned true.
  bool over() {
    const double now = wall_seconds();
    if (now < next_) return false;
    next_ = now + seconds_;
    return true;
  }

 private:
  double seconds_, next_ = std::numeric_limits<double>::lowest();
};

}  // namespace strobe
