// Weight gradients: partial sums of ranges of rows, kept in double, added up in the order of the ranges. Ranges depend
// on shapes only, so the result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/tensor.hpp"

namespace strobe::cpu {

/// target[i] += sum over ranges p of sums[p * stride + first + i]; an undefined target is passed over. `sums` holds
/// `stride` values per range. Cost O(ranges * elements of target).
template <class T>
void add_range_sums(const Tensor& target, const std::vector<double>& sums, std::int64_t first, std::int64_t stride) {
  if (!target.defined()) return;
  for (std::int64_t i = 0; i < target.elements(); ++i) {
    double total = static_cast<double>(target.data<T>()[i]);
    for (auto p = static_cast<std::size_t>(first + i); p < sums.size(); p += static_cast<std::size_t>(stride)) {
      total += sums[p];
    }
    target.data<T>()[i] = static_cast<T>(total);
  }
}

}  // namespace strobe::cpu
