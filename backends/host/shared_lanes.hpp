// Lanes between processes of one node: blocks in shared memory, which the processes of a launch agree on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/lane.hpp"
#include "backends/host/lane_words.hpp"

namespace strobe {

/// Every process brings a text and gets those of all, by rank; throws when one does not come.
using GatherTexts = std::function<std::vector<std::string>(const std::string&)>;

/// The rank in whose process a helper runs: the lowest of its trainers.
int home_of(const HelperRequest& helper);

/// Blocks for the lanes of `helpers` that rank `rank` is a trainer of, or the home of; null elsewhere. All ranks of the
/// launch call it. Throws, on all of them alike, Unavailable where a helper's trainers are on several nodes, and
/// SystemError where shared memory cannot be had. Nothing is left in the system when it returns.
std::vector<std::shared_ptr<LaneBlock>> share_lanes(const std::vector<HelperRequest>& helpers, int rank,
                                                    const GatherTexts& gather);

}  // namespace strobe
