// How many cells a step's sums span (operations_statistics.hpp).
#pragma once

#include <algorithm>

#include "backends/operations/operations_statistics.hpp"

namespace strobe::cpu {

/// Cells that the sums of step t span, on all ranks together; 1 for a step without any, whose values nobody reads.
template <class Op>
double counted_cells(const Op& op, std::int64_t t) {
  const std::int64_t cells = op.counts.defined() ? op.counts.template data<std::int64_t>()[t] : op.vertices;
  return static_cast<double>(std::max<std::int64_t>(1, cells));
}

}  // namespace strobe::cpu
