// The share of the exact run's bytes that was sent under a policy of staleness.
#pragma once

#include <vector>

#include "harness/full_batch/plan/stale_plan.hpp"
#include "results/row/facts.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// Sets `sent_share` and `sent_bytes_by_epoch`. They have one value for each epoch of the first repetition, warm-up
/// included, that all `ranks` ranks have finished. Adds a sentence with the share over all epochs after the first. It
/// goes to the notes if the run is `exact`, else to the approximations. A note says when nothing was saved.
void add_sent_share(const StaleTraffic& traffic, int ranks, bool exact, const std::vector<EpochSample>& samples,
                    Facts& facts);

}  // namespace strobe
