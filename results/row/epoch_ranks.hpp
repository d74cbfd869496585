// Which rank's sample stands for an epoch: the slowest gives its length, the busiest of those that end with it its
// phases.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "results/row/sample.hpp"

namespace strobe {

using EpochKey = std::pair<int, int>;  // repetition, epoch
using Epochs = std::map<EpochKey, std::vector<const EpochSample*>>;

/// The samples of each measured epoch that has one from all `ranks` ranks.
Epochs complete_epochs(const std::vector<EpochSample>& samples, std::int64_t ranks);

/// The slowest rank's sample of each epoch of `complete_epochs`, in order of repetition and epoch; among equally slow
/// ranks the busiest, then the lowest.
std::vector<const EpochSample*> slowest_of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks);

/// Ranks that end so near to the slowest (a share of its epoch) have waited for each other in a closing collective;
/// what is left between their ends is how they woke up and what jitter did to their last operations.
inline constexpr double ends_together = 0.05;

/// For each epoch, in the same order, one sample: among the ranks that end together with the slowest, that of the rank
/// that worked most. Where ranks waited for it, its phases show where the time went; the slowest rank's phases show
/// only waiting.
std::vector<const EpochSample*> busiest_of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks);

}  // namespace strobe
