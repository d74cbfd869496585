// Compares a row with the samples that it was made from.
#pragma once

#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The epochs of one repetition added up, each with its slowest rank, in seconds. `until_seconds` is that of the first.
double training_seconds(const std::vector<EpochSample>& samples, int repetition);

/// The difference between the row and the values of its samples, such as "epoch_seconds/median is 0.2 in the row, but
/// 0.1 by its samples"; "" where there is none. For rows that are not ok, whose last epochs may be cut, only the number
/// of epochs is compared. `from_start`: no checkpoint was continued, so each repetition has samples of its first epoch.
std::string difference_from_samples(const Row& row, const std::vector<EpochSample>& samples, bool from_start);

}  // namespace strobe
