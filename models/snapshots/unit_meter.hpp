// The memory that each unit of chunks takes on a rank, measured while its spatial stages run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/device.hpp"

namespace strobe {

/// Measures three sizes for each unit: its inputs, the memory that its forward stages leave for the backward pass, and
/// the largest extra memory of a stage while it runs. It resets the device's peak, so it suits passes whose peak nobody
/// reads.
class UnitMeter {
 public:
  /// `held` [units]: bytes of each unit's inputs on the device.
  void begin_pass(const std::vector<std::uint64_t>& held) {
    held_ = held;
    kept_.assign(held.size(), 0);
    above_.assign(held.size(), 0);
  }
  void begin_stage(Device& device) {
    device.reset_peak();
    before_ = device.live_bytes();
  }
  void end_stage(const Device& device, std::size_t unit) {
    const std::uint64_t after = device.live_bytes();
    kept_[unit] += after - std::min(before_, after);
    above_[unit] = std::max(above_[unit], device.peak_bytes() - after);
  }

  /// [units] bytes; empty on a rank whose rows are in no units.
  std::vector<std::uint64_t> bytes() const {
    std::vector<std::uint64_t> bytes;
    for (std::size_t unit = 0; unit < held_.size(); ++unit) bytes.push_back(held_[unit] + kept_[unit] + above_[unit]);
    return bytes;
  }

 private:
  std::vector<std::uint64_t> held_, kept_, above_;  // [units]
  std::uint64_t before_ = 0;                        // live bytes in front of the stage at hand
};

}  // namespace strobe
