// Arrows of a trace that show which rank the others waited for: from the last rank in a collective to all others in it.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/span.hpp"

namespace strobe {

/// From a span of one rank to one of another; both belong to the same collective.
struct TraceFlow {
  std::size_t from_rank = 0, from_span = 0;
  std::size_t to_rank = 0, to_span = 0;
};

/// The flows of [ranks][spans], collective by collective. The n-th spans of one name are one collective if every rank
/// has the same number of them and they overlap in time, each n. Where ranks meet in groups, or their clocks are apart,
/// this is not so, and that name has no flows. The last rank is the one that waited least, the first of several. Cost:
/// O(spans log names).
std::vector<TraceFlow> trace_flows(const std::vector<std::vector<Span>>& ranks);

}  // namespace strobe
