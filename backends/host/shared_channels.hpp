// Channels between processes of one node, in blocks of shared memory that the processes of a launch agree on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/channel.hpp"
#include "backends/host/channel_words.hpp"

namespace strobe {

/// Every process passes a text and gets those of all, by rank; throws when a process does not arrive.
using GatherTexts = std::function<std::vector<std::string>(const std::string&)>;

/// The rank in whose process a helper runs: the lowest of its trainers.
int home_of(const HelperRequest& helper);

/// Blocks for the channels of `helpers` for which rank `rank` is a trainer or the home; null for the others. All ranks
/// of the launch call it. Throws the same error on all of them: Unavailable when a helper's trainers are on several
/// nodes, and SystemError when there is no shared memory. Nothing is left in the system when it returns.
std::vector<std::shared_ptr<ChannelBlock>> share_channels(const std::vector<HelperRequest>& helpers, int rank,
                                                          const GatherTexts& gather);

}  // namespace strobe
