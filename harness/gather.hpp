// Gathers what the ranks of an externally launched world measured, since they share no memory.
#pragma once

#include <vector>

#include "backends/communicator.hpp"
#include "harness/training.hpp"

namespace strobe {

/// Every rank's samples and spans, in rank order; losses and metrics are the same on all ranks and kept from the own.
/// All ranks must call it. Span names point to static text.
std::vector<RankOutcome> gather_outcomes(Communicator& communicator, RankOutcome own);

}  // namespace strobe
