// What a hybrid batch is about: a window of steps and some of a rank's own vertices, drawn by chance (DynaHB, VLDB'24,
// section 4.2; decisions D4, D18).
#pragma once

#include <vector>

#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe {

/// Vertices of one rank in groups of like load, from each of which a batch takes as many.
using BalancedGroups = std::vector<std::vector<VertexId>>;

struct BatchSize {
  std::int64_t vertices = 0, steps = 0;
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

/// The `number`-th draw of rank `rank`: the window's start uniform over all valid ones of `steps` steps, vertices
/// without replacement, as many of each group, the first groups one more where they do not come out even. The same
/// arguments give the same draw. Cost O(vertices log vertices).
/// `attempt` below 16 gives another draw of that number.
DrawnTargets draw_targets(const BalancedGroups& groups, const BatchSize& size, std::int64_t steps, std::uint64_t seed,
                          Rank rank, std::uint64_t number, std::uint64_t attempt = 0);

}  // namespace strobe
