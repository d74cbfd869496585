// The vertices and cells from which a rank draws its batches, and the sizes of batches among them.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// Vertices and cells of the training steps, by the rank that draws from them.
struct Owned {
  std::vector<std::int64_t> vertices;            // [P] that exist at one of them
  std::vector<std::vector<std::int64_t>> cells;  // [P][T] that exist; [P][0] if all do
};

/// [N] whether a vertex exists at no training step; empty if all vertices always exist.
std::vector<bool> never_there(const HybridPlan& plan);

/// Counts them. Needs the plan's groups. Throws InvalidRequest if a rank has no vertex that exists at a training step.
Owned count_owned(const HybridPlan& plan);

/// The numbers of vertices and steps of one size on each rank. Throws InvalidRequest if a share rounds to none of a
/// rank's vertices or steps, or, with cut=steps, if a rank has no window, or none in which a vertex exists.
BatchAction action_of(const HybridPlan& plan, const BatchShare& vertices, const BatchShare& snapshots,
                      const Owned& owned);

}  // namespace strobe
