// Training, validation and test parts of a continuous-time graph.
#pragma once

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Training events are [0, train_end), validation [train_end, validation_end), test the rest. Events of one time are in
/// one part.
struct TimeSplit {
  EdgeId train_end = 0, validation_end = 0;
  friend bool operator==(const TimeSplit&, const TimeSplit&) = default;
};

/// Training events are those up to the quantile `train` of the times. Validation events are the later ones up to the
/// quantile `train + validation`. Quantiles are those of numpy.quantile, which interpolates (TGN, DyGLib and TGB split
/// this way). A share of 0 has no event. Throws InvalidRequest when a share is negative, when the shares exceed 1, or
/// when a part whose share is not 0 gets no event.
TimeSplit split_by_shares(const EventGraph& events, double train, double validation);

/// Training events are earlier than `validation_begin`, test events not earlier than `test_begin`. Throws
/// InvalidRequest when `test_begin` is the earlier of the two or one is not a number.
TimeSplit split_by_times(const EventGraph& events, double validation_begin, double test_begin);

}  // namespace strobe
