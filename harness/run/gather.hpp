// Gathers the measurements of ranks in an externally launched world, where ranks share no memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/training/training.hpp"

namespace strobe {

/// Appends every other rank's last sample to `outcomes` [P]; the rank's own entry has its sample already. So finished
/// epochs survive a rank that fails later.
/// All ranks must call it, between epochs. Each sends one record, and one per operation. Operation names point to
/// static text.
void share_last_sample(Communicator& communicator, std::vector<RankOutcome>& outcomes);

/// Returns the `own` numbers of every rank, [P][]. All ranks must call it.
std::vector<std::vector<std::uint64_t>> share_numbers(Communicator& communicator,
                                                      const std::vector<std::uint64_t>& own);

/// Completes `outcomes` [P] after training: adds every rank's spans, and copies losses and metrics, which are the same
/// on all ranks, to the first entry. All ranks must call it. Span names point to static text.
void complete_outcomes(Communicator& communicator, std::vector<RankOutcome>& outcomes);

}  // namespace strobe
