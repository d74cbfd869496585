// Counts for the stages of a model in an epoch, taken where the stages are called: the bytes they load, and the share
// of computed rows that are only padding.
#pragma once

#include <cstdint>

namespace strobe {

struct StageRows {
  std::uint64_t loaded_bytes = 0;  // rows of A, and rows of layers' inputs that they read
  std::uint64_t bin_rows = 0;      // rows of temporal stages whose sequences lie in bins
  std::uint64_t filled_rows = 0;   // rows among them that are no cells

  double padded_share() const {
    return bin_rows == 0 ? 0 : static_cast<double>(filled_rows) / static_cast<double>(bin_rows);
  }
  void add_bins(std::int64_t rows, std::int64_t cells) {
    if (rows == 0) return;
    bin_rows += static_cast<std::uint64_t>(rows);
    filled_rows += static_cast<std::uint64_t>(rows - cells);
  }
};

}  // namespace strobe
