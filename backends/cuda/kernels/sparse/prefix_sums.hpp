// Exclusive prefix sums of 4-byte counts on the device.
#pragma once

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// Sum of `value` over the block's threads in front of this one. `scratch` holds 32 values of shared memory and may be
/// used again after the call; blockDim.x is a multiple of 32. Every thread of the block must call it.
__device__ inline std::uint32_t sum_before(std::uint32_t value, std::uint32_t* scratch) {
  std::uint32_t sum = value;
  for (int distance = 1; distance < warp_lanes; distance *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffffu, sum, distance);
    if (lane() >= distance) sum += other;
  }
  if (lane() == warp_lanes - 1) scratch[warp()] = sum;
  __syncthreads();
  std::uint32_t before = sum - value;
  for (int w = 0; w < warp(); ++w) before += scratch[w];
  __syncthreads();
  return before;
}

/// Elements of the working memory that exclusive_sums asks for.
std::int64_t exclusive_sums_workspace(std::int64_t count);

/// values[i] becomes the sum of what stood in [0, i), below 2^32; `workspace` of exclusive_sums_workspace elements.
/// Cost: each value read twice and written once. Launches: 1 up to 4096 values, 3 up to 4096^2.
void exclusive_sums(const KernelContext& context, std::uint32_t* values, std::int64_t count, std::uint32_t* workspace);

}  // namespace strobe::cuda
