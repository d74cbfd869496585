// Sums over many rows: every range of rows leaves its partial sums in scratch memory, and these are added here in an
// order that depends on shapes only. Cost of the second step: each partial sum read once (8 bytes).
#pragma once

#include "backends/cuda/kernel_language.hpp"

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

/// Two arrays whose sums lie one behind the other, the second from `split` on; either may be null, which is passed
/// over.
template <class T>
struct PartTargets {
  T *first, *second;
  std::int64_t split, count;

  __device__ T* at(std::int64_t i) const {
    if (i < split) return first == nullptr ? nullptr : first + i;
    return second == nullptr ? nullptr : second + (i - split);
  }
};

/// One thread a target.
template <class T>
__global__ void add_parts_by_thread(PartTargets<T> targets, const double* sums, std::int64_t count,
                                    std::int64_t stride) {
  for (std::int64_t i = grid_thread(); i < targets.count; i += grid_threads()) {
    T* const target = targets.at(i);
    if (target == nullptr) continue;
    double total = static_cast<double>(*target);
    for (std::int64_t p = 0; p < count; ++p) total += sums[p * stride + i];
    *target = static_cast<T>(total);
  }
}

/// One warp a target: few targets would leave a GPU to a handful of threads, each with a long chain of additions.
template <class T>
__global__ void add_parts_by_warp(PartTargets<T> targets, const double* sums, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = grid_thread() / warp_lanes; i < targets.count; i += grid_threads() / warp_lanes) {
    T* const target = targets.at(i);
    if (target == nullptr) continue;  // the same for the whole warp
    double total = 0;
    for (std::int64_t p = lane(); p < count; p += warp_lanes) total += sums[p * stride + i];
    total = warp_sum(total);
    if (lane() == 0) *target = static_cast<T>(static_cast<double>(*target) + total);
  }
}

/// Target i += sum over p < count of sums[p * stride + i], the targets being the `split` elements of `first` and then
/// those of `second`. Undefined tensors are passed over.
template <class T>
void add_part_sums(const KernelContext& context, const Tensor& first, std::int64_t split, const Tensor& second,
                   const double* sums, std::int64_t count, std::int64_t stride) {
  constexpr int threads = 256;
  if (count == 0) return;
  const PartTargets<T> targets{first.data<T>(), second.data<T>(), split, split + second.elements()};
  if (targets.count < 1024 && count > warp_lanes) {
    launch(context, blocks_for(targets.count * warp_lanes, threads), threads, 0, add_parts_by_warp<T>, targets, sums,
           count, stride);
  } else {
    launch(context, blocks_for(targets.count, threads), threads, 0, add_parts_by_thread<T>, targets, sums, count,
           stride);
  }
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
