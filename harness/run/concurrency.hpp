// How many ranks compute at the same moment.
#pragma once

#include <vector>

#include "backends/span.hpp"

namespace strobe {

/// Mean, over all time that ranks spend computing or moving bytes, of the number of ranks that do so at that moment:
/// P where all work all the time, 1 where they take turns. [rank][span] of one program; 0 without such spans.
/// Cost: O(S log S) for S spans.
double mean_computing_ranks(const std::vector<std::vector<Span>>& ranks);

}  // namespace strobe
