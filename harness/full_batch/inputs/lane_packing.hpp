// Packs pieces of timelines end to end into lanes. No lane is longer than the longest piece, and there are as many
// lanes as that takes. So there is little padding, and a recurrence takes no more steps than it must (chunk fusion of
// DGC, SIGMOD'23, section 5.1.2).
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// Lanes of equal length. Row s * lanes + l is step s of lane l, so rows of a piece are `lanes` apart.
struct LanePacking {
  std::int64_t steps = 0, lanes = 0;
  std::vector<std::int64_t> first_row;  // of each piece

  std::int64_t rows() const { return steps * lanes; }
};

/// Packs pieces of these lengths, each at least 1. The next piece of a lane is the longest that still fits. Among equal
/// lengths the first one is taken, so pieces of one length lie next to each other in their order. Cost O(n log n).
LanePacking pack_lanes(const std::vector<std::int32_t>& lengths);

/// A lane for each piece, in their order, each as long as the longest piece. Packing saves this padding.
LanePacking pad_lanes(const std::vector<std::int32_t>& lengths);

}  // namespace strobe
