// What an update by a batch of each size costs, before any is trained.
#pragma once

#include <vector>

#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// [actions] In virtual time the seconds that the described cluster takes for an update by a drawn batch, with its part
/// of an averaging; elsewhere in a common unit, by the numbers of cells and entries: only ratios matter. Cost of a
/// batch of each size, of a few ranks.
std::vector<double> expected_update_seconds(const HybridPlan& plan);

}  // namespace strobe
