// Draws of a row: what its predicted times are in clusters whose uncertain constants were drawn within their bands
// (backends/drawn_clusters.hpp), and how often each of several rows is first.
#pragma once

#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// Fills in `row.time_draws`, or the reason why it has none, from the result's samples. `row` has its other times.
void take_draws(const CaseResult& result, Row& row);

/// By contender, in how many draws it takes least; `seconds` holds lists of equal length. Contenders that tie in a draw
/// share it equally, so the numbers add up to the number of draws.
std::vector<double> times_first(const std::vector<const std::vector<double>*>& seconds);

/// "in 87 of 100 draws", or "in 87" where `draws` is 0; shared draws may make it a fraction.
std::string draws_text(double first, std::size_t draws);

}  // namespace strobe
