// The guess from a paper's other figures alone: a prediction that does not beat it tells nothing.
#pragma once

#include "harness/validation/published.hpp"

namespace strobe {

/// Fills in the guess of every printed time that has a prediction, and its relative error: the median of the other
/// times that the paper prints of the same system, in the same column of the same experiment. A system is the label of
/// that name, or the column where rows name none. No guess where the system has no other time.
void take_guesses(PublishedPaper& paper);

}  // namespace strobe
