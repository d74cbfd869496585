// Packs pieces of timelines end to end into bins. No bin is longer than the longest piece, and there are as many
// bins as that takes. So there is little padding, and a recurrence takes no more steps than it must (chunk fusion of
// DGC, SIGMOD'23, section 5.1.2).
#pragma once

#include <cstdint>
#include <vector>

namespace strobe {

/// Bins of equal length. Row s * bins + l is step s of bin l, so rows of a piece are `bins` apart.
struct SequencePacking {
  std::int64_t steps = 0, bins = 0;
  std::vector<std::int64_t> first_row;  // of each piece

  std::int64_t rows() const { return steps * bins; }
};

/// Packs pieces of these lengths, each at least 1. The next piece of a bin is the longest that still fits. Among equal
/// lengths the first one is taken, so pieces of one length lie next to each other in their order. Cost O(n log n).
SequencePacking pack_sequences(const std::vector<std::int32_t>& lengths);

/// A bin for each piece, in their order, each as long as the longest piece. Packing saves this padding.
SequencePacking pad_sequences(const std::vector<std::int32_t>& lengths);

}  // namespace strobe
