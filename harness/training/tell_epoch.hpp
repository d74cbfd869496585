// What is told of a case while it trains.
#pragma once

#include <cstdint>
#include <functional>

namespace strobe {

/// Epochs of the repetition that are done, and the loss of the last one, NaN where none was computed. Called between
/// epochs, on rank 0.
using TellEpoch = std::function<void(int repetition, std::int64_t epochs, double loss)>;

}  // namespace strobe
