// How much of the exact run's bytes was sent under a policy of staleness.
#pragma once

#include <vector>

#include "harness/full_batch/plan/stale_plan.hpp"
#include "results/row/facts.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// Sets `sent_share` and `sent_bytes_by_epoch`: one value for each epoch of the first repetition, warm-up included,
/// that all `ranks` ranks have finished. Adds a sentence with the share of all epochs after the first: to the notes of
/// a run that is `exact`, else to the approximations.
void add_sent_share(const StaleTraffic& traffic, int ranks, bool exact, const std::vector<EpochSample>& samples,
                    Facts& facts);

}  // namespace strobe
