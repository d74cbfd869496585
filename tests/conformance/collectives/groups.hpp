// Groups that the cases of several files split ranks into.
#pragma once

#include "backends/communicator.hpp"

namespace strobe::conformance {

/// The first half of the ranks, the larger when they are odd, and the rest; one group of one rank.
RankGroups halves(int ranks);
/// Ranks with even numbers and those with odd ones.
RankGroups even_and_odd(int ranks);

}  // namespace strobe::conformance
