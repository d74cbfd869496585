// The ranks whose samples describe an epoch. The slowest gives its length. The busiest of those that end together with
// it gives its phases.
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

/// Ranks that end this close to the slowest (a share of its epoch) have waited for each other in a closing collective.
/// The remaining differences of their ends come from how they woke up and from jitter in their last operations.
inline constexpr double ends_together = 0.05;

/// For each epoch, in the same order, one sample: among the ranks that end together with the slowest, that of the rank
/// that worked most. Where ranks waited for it, its phases show where the time went; the slowest rank's phases show
/// only waiting.
std::vector<const EpochSample*> busiest_of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks);

}  // namespace strobe
