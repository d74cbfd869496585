// The memory that each unit of chunks takes on a rank, measured while its spatial stages run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "backends/device.hpp"

namespace strobe {

/// Measures three sizes for each unit: its inputs, the memory that its forward stages leave for the backward pass, and
/// the largest extra memory of a stage while it runs. It resets the device's peak, so it suits passes whose peak nobody
/// reads.
class UnitMeter {
 public:
  /// Begins a pass over the block of steps that starts at `first_step`. `held` [units]: bytes of each unit's inputs on
  /// the device. A later pass over the block replaces what was measured.
  void begin_pass(std::int64_t first_step, const std::vector<std::uint64_t>& held) {
    const std::vector<std::uint64_t> nothing(held.size(), 0);
    block_ = &(blocks_[first_step] = {held, nothing, nothing});
  }
  void begin_stage(Device& device) {
    device.reset_peak();
    before_ = device.live_bytes();
  }
  void end_stage(const Device& device, std::size_t unit) {
    const std::uint64_t after = device.live_bytes();
    block_->kept[unit] += after - std::min(before_, after);
    block_->above[unit] = std::max(block_->above[unit], device.peak_bytes() - after);
  }

  /// [units] bytes, block by block; empty on a rank whose rows are in no units.
  std::vector<std::uint64_t> bytes() const {
    std::vector<std::uint64_t> bytes;
    for (const auto& [first_step, block] : blocks_) {
      for (std::size_t unit = 0; unit < block.held.size(); ++unit)
        bytes.push_back(block.held[unit] + block.kept[unit] + block.above[unit]);
    }
    return bytes;
  }

 private:
  struct Block {
    std::vector<std::uint64_t> held, kept, above;  // [units]
  };
  std::map<std::int64_t, Block> blocks_;  // by first step
  Block* block_ = nullptr;                // the current one
  std::uint64_t before_ = 0;              // live bytes in front of the stage at hand
};

}  // namespace strobe
