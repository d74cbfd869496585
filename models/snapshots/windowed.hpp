// The M-transform of a segment of timelines: the same as that of the whole timelines, given the rows before.
#pragma once

#include "models/snapshots/model.hpp"

namespace strobe {

/// M-transform (ESDG section 5.3) of input.x with `window` terms; with `fades`, fading_sum's weights, no mean.
/// The state is the last min(w - 1, t) rows of x before step t. Cost: one pass over x and the w - 1 rows before it.
TemporalOutput windowed_m_transform(Tape& tape, const TemporalInput& input, std::int64_t window, bool fades = false);

}  // namespace strobe
