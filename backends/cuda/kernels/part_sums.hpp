// Sums over many rows: every range of rows, or block, leaves its partial sums as doubles in scratch memory, one row of
// `stride` sums each, and a second launch adds these rows in an order that depends on their number only. Cost of the
// second launch: each part read once (8 bytes), each target read and written once.
#pragma once

#include <algorithm>

#include "backends/cuda/kernel_language.hpp"
#include "backends/cuda/kernels/scratch_part.hpp"

namespace strobe::cuda {

inline std::int64_t divide_up(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

/// [0, rows) cut into `count` ranges of `grain` rows, the last one shorter.
struct RowParts {
  std::int64_t rows = 0, grain = 1, count = 0;

  __device__ std::int64_t begin(std::int64_t range) const { return range * grain; }
  __device__ std::int64_t end(std::int64_t range) const {
    const std::int64_t last = (range + 1) * grain;
    return last < rows ? last : rows;
  }
};

/// Ranges of a multiple of `unit` rows: enough of them to fill a GPU, few enough that `stride` sums of each stay within
/// 32 MiB of doubles.
inline RowParts row_parts(std::int64_t rows, std::int64_t stride, std::int64_t unit) {
  constexpr std::int64_t most_ranges = 1024, most_sums = std::int64_t{1} << 22;
  std::int64_t most = most_sums / (stride > 0 ? stride : 1);
  most = most < 1 ? 1 : most > most_ranges ? most_ranges : most;
  std::int64_t grain = divide_up(divide_up(rows, most), unit) * unit;
  if (grain < unit) grain = unit;
  return {rows, grain, divide_up(rows, grain)};
}

/// Room for `count` ranges of `stride` sums.
inline double* part_sums_memory(const KernelContext& context, std::int64_t count, std::int64_t stride) {
  return reinterpret_cast<double*>(context.scratch(static_cast<std::size_t>(count * stride) * sizeof(double)));
}

/// Most blocks that leave parts of their own, so that the second launch stays short.
inline constexpr std::int64_t most_parts = 1024;
inline constexpr int adding_warps = 8;

/// Blocks for `tiles` tiles of rows, with `stride` sums each: at most `most_parts`, and few enough that the parts stay
/// below 64 MiB.
inline std::int64_t blocks_with_parts(std::int64_t tiles, std::int64_t stride) {
  constexpr std::int64_t most_sums = std::int64_t{8} << 20;
  return std::min({tiles, most_parts, std::max<std::int64_t>(1, most_sums / stride)});
}

/// Adds from[0], from[apart], ... to `sum` in this order, in batches whose loads are on their way at once, while `left`
/// values hold a batch.
template <int batch>
__device__ void add_batches(double& sum, const double* __restrict__& from, std::int64_t apart, int& left) {
#pragma unroll 1
  for (; left >= batch; left -= batch, from += batch * apart) {
    double in[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) in[j] = from[j * apart];
#pragma unroll
    for (int j = 0; j < batch; ++j) sum += in[j];
  }
}

/// sum + parts[p * stride] for p = first, first + step, ... below `count`, in that order.
__device__ inline double add_in_order(double sum, const double* __restrict__ parts, std::int64_t first,
                                      std::int64_t count, std::int64_t step, std::int64_t stride) {
  constexpr int batch = 8;
  // Parts are fewer than 2^31: a division of 32 bits.
  const auto span = static_cast<unsigned>(first < count ? count - first + step - 1 : 0);
  int left = static_cast<int>(span / static_cast<unsigned>(step));
  const std::int64_t apart = step * stride;
  parts += first * stride;
  add_batches<4 * batch>(sum, parts, apart, left);
  add_batches<batch>(sum, parts, apart, left);
  double in[batch - 1];  // those that are left, at once too
#pragma unroll
  for (int j = 0; j < batch - 1; ++j) in[j] = j < left ? parts[j * apart] : 0.0;
#pragma unroll
  for (int j = 0; j < batch - 1; ++j) {
    if (j < left) sum += in[j];
  }
  return sum;
}

/// Up to three consecutive arrays in a row of parts: array i ends before column ends[i]. The sums of a null array go
/// nowhere.
template <class T>
struct SumTargets {
  T* to[3];
  std::int64_t ends[3];
  bool add;  // to what the arrays hold
};

/// Where column `column` of the parts goes; null: nowhere.
template <class T>
__device__ T* target_of(const SumTargets<T>& targets, std::int64_t column) {
  const bool in_first = column < targets.ends[0], in_second = !in_first && column < targets.ends[1];
  T* const array = in_first ? targets.to[0] : in_second ? targets.to[1] : targets.to[2];
  if (array == nullptr || column >= targets.ends[2]) return nullptr;
  return array + column - (in_first ? 0 : in_second ? targets.ends[0] : targets.ends[1]);
}

/// A block takes 2^shift columns, at most 32, and shares the rows of a column out to the threads of its first warps in
/// turns, while the last warp fetches what the sums are added to. The lanes of a column are added as a tree, and warp 0
/// adds the warps' sums in order.
template <class T>
__global__ void __launch_bounds__(warp_lanes*(adding_warps + 1), 1)
    add_parts_in_order(const double* parts, std::int64_t count, std::int64_t stride, int shift, SumTargets<T> targets) {
  STROBE_SHARED(double[adding_warps + 1][warp_lanes], sums);
  const int columns = 1 << shift, rows = warp_lanes >> shift, row = warp() * rows + (lane() >> shift);
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) << shift) + (lane() & (columns - 1));
  T* const target = target_of(targets, column);
  double sum = 0;
  if (warp() == adding_warps) {
    if (targets.add && target != nullptr && lane() < columns) sum = static_cast<double>(*target);
  } else if (column < targets.ends[2]) {
    sum = add_in_order(0.0, parts + column, row, count, adding_warps * rows, stride);
  }
  for (int distance = columns; distance < warp_lanes; distance *= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  sums[warp()][lane()] = sum;
  __syncthreads();
  if (warp() != 0 || lane() >= columns || target == nullptr) return;
  double total = sums[adding_warps][lane()];
  for (int w = 0; w < adding_warps; ++w) total += sums[w][lane()];
  *target = static_cast<T>(total);
}

/// The shift for `columns` columns: 8 to a block while they are few, so that many blocks read at once, and their rows
/// two sectors of memory; else 32.
inline int adding_shift(std::int64_t columns) { return columns <= 4096 ? 3 : 5; }

/// targets (+)= sum over the `count` rows of parts [count, stride].
template <class T>
void add_parts(const KernelContext& context, const double* parts, std::int64_t count, std::int64_t stride,
               const SumTargets<T>& targets) {
  if (count == 0 && targets.add) return;
  const int shift = adding_shift(targets.ends[2]);
  launch(context, divide_up(targets.ends[2], 1 << shift), warp_lanes * (adding_warps + 1), 0, add_parts_in_order<T>,
         parts, count, stride, shift, targets);
}

/// The same for weights and bias: first += its `split` columns, second += the columns after those. Undefined tensors
/// are passed over.
template <class T>
void add_part_sums(const KernelContext& context, const Tensor& first, std::int64_t split, const Tensor& second,
                   const double* sums, std::int64_t count, std::int64_t stride) {
  const std::int64_t end = split + second.elements();
  add_parts(context, sums, count, stride,
            SumTargets<T>{{first.data<T>(), second.data<T>(), nullptr}, {split, end, end}, true});
}

/// dz = dy where y > 0, or dy where there is no activation (y is null).
template <class T>
__device__ inline T through_activation(const T* y, const T* dy, std::int64_t at) {
  return y == nullptr || y[at] > T{0} ? dy[at] : T{0};
}

template <class T>
__device__ inline T activated(T value, bool relu) {
  return relu && value < T{0} ? T{0} : value;  // keeps NaN
}

}  // namespace strobe::cuda
