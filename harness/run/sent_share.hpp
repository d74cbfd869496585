// What a policy of staleness left of the bytes that the exact run sends.
#pragma once

#include "harness/schedule/schedule.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// Fills in `sent_share` and `sent_bytes_by_epoch` of the first repetition's epochs that all `ranks` ranks have
/// finished, warm-up included, and says the share of all epochs
/// behind the first together: among the approximations, or of an exact run among the notes.
void add_sent_share(const StaleTraffic& traffic, int ranks, CaseResult& result);

}  // namespace strobe
