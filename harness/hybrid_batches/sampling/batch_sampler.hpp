// Draws the targets of a hybrid batch at random: a window of steps and some of a rank's own vertices (DynaHB, VLDB'24,
// section 4.2; decisions D4, D18).
#pragma once

#include <vector>

#include "harness/hybrid_batches/encoding/layered_batch.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {

/// Vertices of one rank in groups of similar load. A batch takes the same share of each.
using BalancedGroups = std::vector<std::vector<VertexId>>;

/// The size of batches of one rank. `vertices` counts among those of its groups.
struct BatchSize {
  std::int64_t vertices = 0, steps = 0;
  bool is_share = true;  // of fewer vertices a batch has the same share; else as many, or all
  Run windows = {};      // first steps of the windows that the rank draws from; a count of 0: all
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

/// The number of vertices of a batch of that size where `existing` of the rank's `all` vertices can be drawn.
std::int64_t drawn_vertices(const BatchSize& size, std::int64_t existing, std::int64_t all);

/// The `number`-th draw of rank `rank`. The window's start is uniform over `size.windows`, or over all valid ones of
/// `steps` steps. Vertices are drawn without replacement, all equally likely, from each group in proportion. With
/// `presence` they are drawn among those that exist at some step of the window: `drawn_vertices` of them. A window in
/// which none exists gives way to the next that has some, and some step must. The same arguments give the same draw. An
/// `attempt` below 16 gives another draw of that number. Cost O(vertices log vertices); with `presence` also
/// O(vertices of all groups * steps of the window).
DrawnTargets draw_targets(const BalancedGroups& groups, const BatchSize& size, std::int64_t steps, std::uint64_t seed,
                          Rank rank, std::uint64_t number, std::uint64_t attempt = 0,
                          const Presence* presence = nullptr);

}  // namespace strobe
