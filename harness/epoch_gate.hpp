// Whether another epoch may begin.
#pragma once

#include <cstdint>

#include "backends/communicator.hpp"
#include "backends/time_limit.hpp"

namespace strobe {

/// Lets epochs begin while the time limit of the case lasts, on all ranks alike.
class EpochGate {
 public:
  /// `several_processes`: the ranks of the case live in more than one, whose clocks differ: they vote before each
  /// epoch.
  EpochGate(double limit_seconds, bool several_processes) : limit_(limit_seconds), votes_(several_processes) {}

  /// Whether the epoch with the running number `step` may begin. All ranks must ask, before each epoch.
  bool open(Device& device, Communicator& communicator, std::int64_t step);

  bool closed() const { return limit_.up(); }
  double limit_seconds() const { return limit_.seconds(); }

 private:
  TimeLimit limit_;
  const bool votes_;
};

}  // namespace strobe
