// Events: points in a rank's streams, and what comes to a rank from beside its own program.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "backends/span.hpp"

namespace strobe {

/// Something that comes from beside a rank's program: the end of work on its host stream, an answer of a helper. Any
/// thread of the process may ask.
class HostEvent {
 public:
  virtual ~HostEvent() = default;
  /// Whether it has come. Throws what keeps it from ever coming.
  virtual bool come() = 0;
  /// Waits at most `patience` for it; whether it has come. Throws as `come` does. In virtual time only the device
  /// knows how to wait.
  virtual bool come_within(std::chrono::nanoseconds patience) = 0;
};

/// A point on a stream; `seconds` is its time on a virtual clock, `native` a CUDA event, `host` what the host finishes.
/// Cheap to copy. What compute has to wait for it is time of `phase`, which `other` counts as nobody's.
struct Event {
  double seconds = 0;
  std::shared_ptr<void> native;
  std::shared_ptr<HostEvent> host = nullptr;
  Phase phase = Phase::other;
  std::string_view name = "";  // static text: what ends there
};

}  // namespace strobe
