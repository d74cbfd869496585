// Weight gradients dw[F, G] += x^T dz over many rows: sums of fixed ranges of rows in double, one range after the other
// added up by a second launch. Ranges depend on the number of rows only, so the result does not depend on timing.
#pragma once

#include <algorithm>

#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/kernels/scratch_part.hpp"

namespace strobe::cuda {

/// How rows are cut into ranges: enough for every multiprocessor, few enough to add up.
struct RowRanges {
  std::int64_t rows, each, count;
};

inline RowRanges row_ranges(std::int64_t rows) {
  constexpr std::int64_t most = 2048, fewest_rows = 256;
  const std::int64_t each = std::max(fewest_rows, (rows + most - 1) / most);
  return {rows, each, (rows + each - 1) / each};
}

/// x[rows, inner] and dz[rows, width], of which dz counts only where `y` is positive, when there is a y.
template <class T>
struct WeightTerms {
  const T *x, *dz, *y;
  std::int64_t inner, width;
};

/// sums[range, inner * width]: one thread a sum, rows in order.
template <class T>
__global__ void sum_ranges(WeightTerms<T> terms, RowRanges ranges, double* sums) {
  const std::int64_t outputs = terms.inner * terms.width;
  for (std::int64_t i = grid_thread(); i < ranges.count * outputs; i += grid_threads()) {
    const std::int64_t begin = i / outputs * ranges.each, end = min(ranges.rows, begin + ranges.each);
    const std::int64_t f = i % outputs / terms.width, g = i % terms.width;
    double sum = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      if (terms.y != nullptr && !(terms.y[row * terms.width + g] > T{0})) continue;
      sum += static_cast<double>(terms.x[row * terms.inner + f]) * static_cast<double>(terms.dz[row * terms.width + g]);
    }
    sums[i] = sum;
  }
}

/// target[i] += sum over ranges of sums[range, i]: a warp per output, which adds in an order of its own that is always
/// the same.
template <class T>
__global__ void add_range_sums(const double* sums, std::int64_t ranges, std::int64_t outputs, T* target) {
  const std::int64_t warps = grid_threads() / warp_lanes;
  for (std::int64_t i = grid_thread() / warp_lanes; i < outputs; i += warps) {
    double sum = 0;
    for (std::int64_t range = lane(); range < ranges; range += warp_lanes) sum += sums[range * outputs + i];
    sum = warp_sum(sum);
    if (lane() == 0) target[i] = static_cast<T>(static_cast<double>(target[i]) + sum);
  }
}

template <class T>
void launch_add_range_sums(const KernelContext& context, const double* sums, std::int64_t ranges, std::int64_t outputs,
                           T* target) {
  constexpr int threads = 128;
  launch(context, blocks_for(outputs * warp_lanes, threads), threads, 0, add_range_sums<T>, sums, ranges, outputs,
         target);
}

/// target += x^T dz by the two launches; `sums` holds count * inner * width doubles.
template <class T>
void plain_weight_gradient(const KernelContext& context, const WeightTerms<T>& terms, const RowRanges& ranges,
                           double* sums, T* target) {
  constexpr int threads = 128;
  const std::int64_t outputs = terms.inner * terms.width;
  launch(context, blocks_for(ranges.count * outputs, threads), threads, 0, sum_ranges<T>, terms, ranges, sums);
  launch_add_range_sums(context, sums, ranges.count, outputs, target);
}

}  // namespace strobe::cuda
