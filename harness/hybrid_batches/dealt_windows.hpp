// Windows of steps dealt to ranks, which train all vertices in them: the sliding-window partition of snapshots
// (DynaGraph: Guan et al., GRADES-NDA'22; as DynaHB, VLDB'24, section 2.2 and Figure 1d, describes it).
#pragma once

#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// The windows of `window` steps that `rank` trains, by their first steps. All windows within `steps` steps are divided
/// evenly, in order. Throws InvalidRequest for windows longer than the steps of a rank, steps / ranks.
Run dealt_windows(std::int64_t steps, std::int64_t window, Rank rank, int ranks);

/// Steps that the rank's windows of any size reach.
Run held_steps(const HybridPlan& plan, Rank rank);

/// Gives every rank all vertices in its groups, instead of its own. `missing` are left out (never_there).
void share_all_vertices(HybridPlan& plan, const std::vector<double>& load, const std::vector<bool>& missing);

/// Bytes of the steps that ranks hold. Every rank owns an even share of the training steps; the others that its windows
/// reach are copies.
CacheSizes count_held_steps(const HybridPlan& plan);

/// The samples of some steps. Cost O(n).
SampleIndex of_steps(const SampleIndex& index, Run steps);

}  // namespace strobe
