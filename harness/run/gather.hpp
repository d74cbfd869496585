// Gathers what the ranks of an externally launched world measured, since they share no memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/training/training.hpp"

namespace strobe {

/// Every rank's last sample is appended to `outcomes` [P] on all ranks, whose own entry has it already: so a rank that
/// fails later takes no finished epoch with it. All ranks must call it, between epochs; one record of each is sent, and
/// one of each of its operations, whose names point to static text.
void share_last_sample(Communicator& communicator, std::vector<RankOutcome>& outcomes);

/// Every rank's numbers [P][], from its own. All ranks must call it.
std::vector<std::vector<std::uint64_t>> share_numbers(Communicator& communicator,
                                                      const std::vector<std::uint64_t>& own);

/// Completes `outcomes` [P] when training is over: every rank's spans, and losses and metrics, which are the same on
/// all ranks, in the first entry as well. All ranks must call it. Span names point to static text.
void complete_outcomes(Communicator& communicator, std::vector<RankOutcome>& outcomes);

}  // namespace strobe
