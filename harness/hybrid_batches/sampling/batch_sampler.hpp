// Draws the targets of a hybrid batch at random: a window of steps and some of a rank's own vertices (DynaHB, VLDB'24,
// section 4.2; decisions D4, D18).
#pragma once

#include <vector>

#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe {

/// Vertices of one rank in groups of similar load. A batch takes the same number from each group.
using BalancedGroups = std::vector<std::vector<VertexId>>;

struct BatchSize {
  std::int64_t vertices = 0, steps = 0;
  Run windows = {};  // first steps of the windows that the rank draws from; a count of 0: all
};

struct DrawnTargets {
  BatchWindow window;
  std::vector<VertexId> vertices;  // ascending
};

namespace random_purpose {
inline constexpr std::uint32_t hybrid_batch = 40;
inline constexpr std::uint32_t batch_choice = 41;
inline constexpr std::uint32_t batch_size = 42;
}  // namespace random_purpose

/// The `number`-th draw of rank `rank`. The window's start is uniform over `size.windows`, or
/// over all valid ones of `steps` steps. Vertices
/// are drawn without replacement, the same number from each group, or one more from the first groups. The same
/// arguments give the same draw. An `attempt` below 16 gives another draw of that number. Cost O(vertices log
/// vertices).
DrawnTargets draw_targets(const BalancedGroups& groups, const BatchSize& size, std::int64_t steps, std::uint64_t seed,
                          Rank rank, std::uint64_t number, std::uint64_t attempt = 0);

}  // namespace strobe
