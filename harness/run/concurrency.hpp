// How many ranks compute at the same moment.
#pragma once

#include <vector>

#include "backends/span.hpp"

namespace strobe {

/// The mean number of ranks that compute or move bytes at the same moment, over all time that ranks spend so.
/// It is P when all ranks work all the time, 1 when they take turns, and 0 when no span is work. Host work at the same
/// time as a rank's own counts as one rank more, because another thread does it.
/// `ranks` is [rank][span] of one program. Cost: O(S log S) for S spans.
double mean_computing_ranks(const std::vector<std::vector<Span>>& ranks);

}  // namespace strobe
