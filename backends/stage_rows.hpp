// What the stages of a model go through in an epoch, counted where they are called: what they load, and how much of
// what they compute is there to fill up.
#pragma once

#include <cstdint>

namespace strobe {

struct StageRows {
  std::uint64_t loaded_bytes = 0;  // rows of A, and of layers' inputs that they read
  std::uint64_t lane_rows = 0;     // of temporal stages whose sequences lie in lanes
  std::uint64_t filled_rows = 0;   // those of them that are no cells

  double padded_share() const {
    return lane_rows == 0 ? 0 : static_cast<double>(filled_rows) / static_cast<double>(lane_rows);
  }
  void add_lanes(std::int64_t rows, std::int64_t cells) {
    if (rows == 0) return;
    lane_rows += static_cast<std::uint64_t>(rows);
    filled_rows += static_cast<std::uint64_t>(rows - cells);
  }
};

}  // namespace strobe
