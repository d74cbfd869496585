// The cost of an update by a batch of each size, before any is trained.
#pragma once

#include <vector>

#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// The cost of an update for each size, [actions]. In virtual time it is the seconds that the described cluster takes
/// for an update by a drawn batch, with its part of an averaging. Elsewhere it is in an arbitrary unit, from the
/// numbers of cells and entries, because only ratios matter. Takes the time of a batch of each size on a few ranks.
std::vector<double> expected_update_seconds(const HybridPlan& plan);

}  // namespace strobe
