// The callback that reports progress while a case trains.
#pragma once

#include <cstdint>
#include <functional>

namespace strobe {

/// Receives the number of finished epochs of the repetition, and the loss of the last one (NaN if it was not computed).
/// Rank 0 calls it between epochs.
using TellEpoch = std::function<void(int repetition, std::int64_t epochs, double loss)>;

}  // namespace strobe
