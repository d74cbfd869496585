#include "backends/time_limit.hpp"

#include "backends/wall_clock.hpp"

namespace strobe {

TimeLimit::TimeLimit(double seconds) : seconds_(seconds), begin_seconds_(wall_seconds()) {}

bool TimeLimit::up_before(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  if (limited() && step > asked_) {
    asked_ = step;
    up_ = up_ || wall_seconds() - begin_seconds_ > seconds_;
  }
  return up_;
}

void TimeLimit::set_up() {
  const std::lock_guard lock(mutex_);
  up_ = true;
}

bool TimeLimit::up() const {
  const std::lock_guard lock(mutex_);
  return up_;
}

}  // namespace strobe
