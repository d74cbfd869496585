// A deadline that also checks the stop signal.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/errors.hpp"
#include "core/system/interrupt.hpp"

namespace strobe::nccl {

/// The time left for a wait. Durations beyond the range of the clock count as endless.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Patience(double seconds) : begin_(Clock::now()) {
    constexpr double longest_seconds = 1e9;
    const std::chrono::duration<double> whole(std::clamp(seconds, 0.0, longest_seconds));
    end_ = begin_ + std::chrono::duration_cast<Clock::duration>(whole);
  }

  bool over() const { return Clock::now() >= end_; }
  /// Throws Interrupted on a stop signal; otherwise yields the core for a time that grows with the waiting.
  void pause() const {
    refuse_stopped();
    const auto waited = Clock::now() - begin_;
    if (waited < std::chrono::microseconds(200)) return;
    if (waited < std::chrono::milliseconds(5)) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(waited < std::chrono::seconds(1) ? 100 : 2000));
  }
  /// Shortens the remaining time to at most `seconds`.
  void shorten(double seconds) { end_ = std::min(end_, Patience(seconds).end_); }

  static void refuse_stopped() {
    const int signal = stop_signal().load();
    if (signal != 0) throw Interrupted(signal);
  }

 private:
  Clock::time_point begin_, end_;
};

}  // namespace strobe::nccl
