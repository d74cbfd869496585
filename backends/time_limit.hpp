// A limit of wall time for work; all ranks of a process ask about it between the work's steps.
#pragma once

#include <cstdint>
#include <mutex>

namespace strobe {

/// A limit that runs from its construction. Thread-safe.
class TimeLimit {
 public:
  /// `seconds` of wall time, even on a device with virtual time; 0 = no limit.
  explicit TimeLimit(double seconds);

  bool limited() const { return seconds_ > 0; }
  double seconds() const { return seconds_; }

  /// Whether the time was up before `step`. All ranks get the same answer: the first that asks about a step decides.
  /// Ask about steps in order; no rank may be more than one step ahead of another.
  bool up_before(std::int64_t step);

  /// Ends the time, because it is up in another process.
  void set_up();

  /// Whether it was up at some step.
  bool up() const;

 private:
  const double seconds_, begin_seconds_;
  mutable std::mutex mutex_;
  std::int64_t asked_ = -1;
  bool up_ = false;
};

}  // namespace strobe
