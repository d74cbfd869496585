// Events: points in a rank's streams, and signals from outside its program.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "backends/span.hpp"

namespace strobe {

/// An event from outside a rank's program: the end of work on its host stream, or an answer of a helper. Any thread of
/// the process may ask.
class HostEvent {
 public:
  virtual ~HostEvent() = default;
  /// Whether it has come. Throws the reason if it can never come.
  virtual bool come() = 0;
  /// Waits at most `patience` for it; returns whether it has come. Throws the same as `come`. In virtual time only the
  /// device knows how to wait.
  virtual bool come_within(std::chrono::nanoseconds patience) = 0;
};

/// A point on a stream. `seconds` is its time on a virtual clock, `native` a CUDA event, `host` an event that the host
/// finishes. Cheap to copy. Time that compute waits for it counts for `phase`; with `other` it counts for no phase.
struct DeviceEvent {
  double seconds = 0;
  std::shared_ptr<void> native;
  std::shared_ptr<HostEvent> host = nullptr;
  Phase phase = Phase::other;
  std::string_view name = "";  // static text: the work that ends there
};

}  // namespace strobe
