// The second launch of sums over many rows: block b of the first launch has left its sums in row b of a matrix of
// doubles, and the rows are added here in an order that depends on their number only. A block takes 32 columns; its
// warp w adds rows w, w + 8, ..., and warp 0 adds the warps' sums in order. Cost: each part read once, each target
// read and written once.
#pragma once

#include <algorithm>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// Most blocks that leave parts of their own, so that the second launch stays short.
inline constexpr std::int64_t most_parts = 1024;
inline constexpr int adding_warps = 8;

/// Up to three arrays that lie one behind the other in a row of parts: array i ends before column ends[i].
template <class T>
struct SumTargets {
  T* to[3];
  std::int64_t ends[3];
  bool add;  // to what the arrays hold
};

template <class T>
__global__ void add_parts_in_order(const double* parts, std::int64_t count, std::int64_t stride,
                                   SumTargets<T> targets) {
  __shared__ double sums[adding_warps][warp_lanes];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * warp_lanes + lane();
  double sum = 0;
#pragma unroll 8  // loads in flight
  for (std::int64_t p = warp(); p < count && column < stride; p += adding_warps) sum += parts[p * stride + column];
  sums[warp()][lane()] = sum;
  __syncthreads();
  if (warp() != 0 || column >= targets.ends[2]) return;
  const int array = column < targets.ends[0] ? 0 : column < targets.ends[1] ? 1 : 2;
  T& target = targets.to[array][column - (array == 0 ? 0 : targets.ends[array - 1])];
  double total = targets.add ? static_cast<double>(target) : 0.0;
  for (int w = 0; w < adding_warps; ++w) total += sums[w][lane()];
  target = static_cast<T>(total);
}

/// targets (+)= sum over the `count` rows of parts [count, stride].
template <class T>
void add_parts(const KernelContext& context, const double* parts, std::int64_t count, std::int64_t stride,
               const SumTargets<T>& targets) {
  launch(context, (targets.ends[2] + warp_lanes - 1) / warp_lanes, warp_lanes * adding_warps, 0, add_parts_in_order<T>,
         parts, count, stride, targets);
}

/// Bytes of `count` elements of `size` bytes, rounded up so that what follows in one scratch call is aligned.
inline std::size_t padded_bytes(std::int64_t count, std::size_t size) {
  constexpr std::size_t alignment = 256;
  return (static_cast<std::size_t>(count) * size + alignment - 1) / alignment * alignment;
}

/// Blocks for `tiles` tiles of rows, each of which leaves `stride` sums: at most `most_parts`, and few enough that the
/// parts stay below 64 MiB.
inline std::int64_t blocks_with_parts(std::int64_t tiles, std::int64_t stride) {
  constexpr std::int64_t most_sums = std::int64_t{8} << 20;
  return std::min({tiles, most_parts, std::max<std::int64_t>(1, most_sums / stride)});
}

}  // namespace strobe::cuda
