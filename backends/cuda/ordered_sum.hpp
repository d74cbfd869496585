// Sum, or maximum, of buffers in device memory, always taken in the order in which they are given
// (backends/ordered_sum.hpp).
#pragma once

#include <vector>

#include "backends/kernel.hpp"
#include "backends/reduction.hpp"

namespace strobe::cuda {

/// sum[i] = addends[0][i] + addends[1][i] + ..., in that order, or the largest of them, NaN where one is; `sum` may be
/// one of the addends, which are at least one. Throws Error for a type that cannot be added.
void ordered_sum(const KernelContext& context, Reduction reduction, ElementType type,
                 const std::vector<const std::byte*>& addends, std::byte* sum, std::int64_t elements);

}  // namespace strobe::cuda
