// Whether device cuda can be made here; in the emulation it always can.
#pragma once

#include <memory>
#include <string>

#include "backends/device.hpp"

namespace strobe {

/// Why there is no GPU to test on; empty when there is one.
inline std::string why_no_gpu() {
  static const std::string reason = [] {
    try {
      (void)DeviceRegistry::instance().find("cuda").value(DeviceRequest{});
      return std::string();
    } catch (const Unavailable& error) {
      return std::string(error.what());
    }
  }();
  return reason;
}

}  // namespace strobe
