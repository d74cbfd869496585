// Draws of a predicted case: the clusters to time its program in, and what is kept of their times.
#pragma once

#include <vector>

#include "backends/communicator.hpp"
#include "harness/request/case.hpp"
#include "harness/training/training.hpp"

namespace strobe {

/// Lets the launch time its program in as many drawn clusters as the case asks for.
void add_draws(const Case& c, LaunchRequest& launch, CaseResult& result);

/// Leaves the draws of an epoch to the first rank: `first` gets the slower one's time in each draw, `other` loses its
/// list.
void leave_draws(EpochSample& other, EpochSample& first);

/// Keeps in the first rank's samples, draw by draw, the epoch of the slowest rank; the others' lists become empty.
void keep_slowest_draws(std::vector<RankOutcome>& outcomes);

}  // namespace strobe
