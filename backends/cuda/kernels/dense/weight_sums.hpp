// Weight gradients dw[F, G] += x^T dz over many rows: sums of fixed ranges of rows in double, one range after the other
// added up by a second launch. Ranges depend on the number of rows only, so the result does not depend on timing.
#pragma once

#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

/// Ranges of rows for the sums of dw [inner, width].
inline RowParts weight_ranges(std::int64_t rows, std::int64_t inner, std::int64_t width) {
  constexpr std::int64_t fewest_rows = 256;
  return row_parts(rows, inner * width, fewest_rows);
}

/// x[rows, inner] and dz[rows, width]; dz counts only where `y` is positive, if there is a y.
template <class T>
struct WeightTerms {
  const T *x, *dz, *y;
  std::int64_t inner, width;
};

/// sums[range, inner * width]: one thread a sum, rows in order.
template <class T>
__global__ void sum_ranges(WeightTerms<T> terms, RowParts ranges, double* sums) {
  const std::int64_t outputs = terms.inner * terms.width;
  for (std::int64_t i = grid_thread(); i < ranges.count * outputs; i += grid_threads()) {
    const std::int64_t begin = ranges.begin(i / outputs), end = ranges.end(i / outputs);
    const std::int64_t f = i % outputs / terms.width, g = i % terms.width;
    double sum = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      if (terms.y != nullptr && !(terms.y[row * terms.width + g] > T{0})) continue;
      sum += static_cast<double>(terms.x[row * terms.inner + f]) * static_cast<double>(terms.dz[row * terms.width + g]);
    }
    sums[i] = sum;
  }
}

/// target[i] += sum over `count` ranges of sums[range, i].
template <class T>
void add_weight_sums(const KernelContext& context, const double* sums, std::int64_t count, std::int64_t outputs,
                     T* target) {
  add_parts(context, sums, count, outputs,
            SumTargets<T>{{target, nullptr, nullptr}, {outputs, outputs, outputs}, true});
}

/// target += x^T dz by the two launches; `sums` holds count * inner * width doubles.
template <class T>
void plain_weight_gradient(const KernelContext& context, const WeightTerms<T>& terms, const RowParts& ranges,
                           double* sums, T* target) {
  constexpr int threads = 128;
  const std::int64_t outputs = terms.inner * terms.width;
  launch(context, blocks_for(ranges.count * outputs, threads), threads, 0, sum_ranges<T>, terms, ranges, sums);
  add_weight_sums(context, sums, ranges.count, outputs, target);
}

}  // namespace strobe::cuda
