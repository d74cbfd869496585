// Weight gradients: partial sums of ranges of rows, kept in double, added up in the order of the ranges. Ranges depend
// on shapes only, so the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/tensor.hpp"

namespace strobe::cpu {

/// Elements [begin, end) of target += those of `ranges` ranges of sums, whose values lie `stride` apart, in order of
/// the ranges. Cost O(ranges * (end - begin)), many elements at a time.
template <class T>
void add_range_part(const Tensor& target, const double* sums, std::int64_t ranges, std::int64_t stride,
                    std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t at_a_time = 512;
  double total[at_a_time];
  for (; begin < end; begin += at_a_time) {
    const std::int64_t count = std::min(at_a_time, end - begin);
    T* to = target.data<T>() + begin;
    for (std::int64_t i = 0; i < count; ++i) total[i] = static_cast<double>(to[i]);
    for (std::int64_t p = 0; p < ranges; ++p) {
      const double* from = sums + p * stride + begin;
      for (std::int64_t i = 0; i < count; ++i) total[i] += from[i];
    }
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(total[i]);
  }
}

/// target[i] += sum over ranges p of sums[p * stride + first + i]; an undefined target is passed over. `sums` holds
/// `stride` values per range. Cost O(ranges * elements of target).
template <class T>
void add_range_sums(const Tensor& target, const std::vector<double>& sums, std::int64_t first, std::int64_t stride) {
  if (!target.defined() || stride == 0) return;
  add_range_part<T>(target, sums.data() + first, static_cast<std::int64_t>(sums.size()) / stride, stride, 0,
                    target.elements());
}

/// target (+)= the first values of `sums`, one for each of its elements.
template <class T>
void store_sums(const Tensor& target, bool accumulate, const std::vector<double>& sums) {
  T* to = target.data<T>();
  for (std::int64_t i = 0; i < target.elements(); ++i)
    to[i] = static_cast<T>((accumulate ? static_cast<double>(to[i]) : 0.0) + sums[i]);
}

/// Gradients of a layer's weights and bias over `rows` rows: body(begin, end, sums) adds the part of rows [begin, end)
/// to sums [weights + width], zero at first, whose first `weights` values are of dw and the rest of dbias; an undefined
/// tensor is passed over. Ranges have `grain` rows.
template <class T, class Body>
void add_weight_gradients(const KernelContext& context, std::int64_t rows, std::int64_t grain, const Tensor& dw,
                          std::int64_t weights, const Tensor& dbias, std::int64_t width, const Body& body) {
  const std::int64_t stride = weights + width;
  std::vector<double> sums(divide_up(rows, grain) * stride, 0.0);
  for_ranges(context, rows, grain,
             [&](std::int64_t begin, std::int64_t end) { body(begin, end, sums.data() + begin / grain * stride); });
  add_range_sums<T>(dw, sums, 0, stride);
  add_range_sums<T>(dbias, sums, weights, stride);
}

}  // namespace strobe::cpu
