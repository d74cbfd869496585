// Pieces of timelines end to end in lanes: as many lanes as it takes when none is longer than the longest piece, so
// that little is filled up with zeros and a recurrence takes no more steps than it must (chunk fusion of DGC,
// SIGMOD'23, section 5.1.2).
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// Lanes of equal length. Row s * lanes + l is step s of lane l; the rows of a piece are `lanes` apart.
struct LanePacking {
  std::int64_t steps = 0, lanes = 0;
  std::vector<std::int64_t> first_row;  // of each piece

  std::int64_t rows() const { return steps * lanes; }
};

/// Packs pieces of these lengths, each at least 1: the longest that still fits goes behind the last one of a lane
/// (first come first among equals, so that pieces of one length lie side by side in their order). Cost O(n log n).
LanePacking pack_lanes(const std::vector<std::int32_t>& lengths);

/// A lane for each piece, in their order, as long as the longest: what packing saves.
LanePacking pad_lanes(const std::vector<std::int32_t>& lengths);

}  // namespace strobe
