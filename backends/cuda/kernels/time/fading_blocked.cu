// Fading sum for windows that do not fit registers: a thread makes `together` neighbouring steps of one value, so each
// value of x is read once per thread and not once per step; weights lie in shared memory, where all lanes read the same
// one. Sums in the values' type, farthest step first: smallest weights first, so that rounding stays near the sum's
// own. Cost: w multiply-adds per value; x is read 1 + w / 8 times, of which all but the first hit a cache when the
// window's slabs fit one. Launches: 1.
#include <algorithm>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe::cuda {
namespace fading_blocked_kernels {

constexpr int threads = 128, together = 8;
constexpr std::int64_t longest = 1024;  // for which sums in float hold 1e-5 of their terms

/// In running order i, step(i) counts up (forward) or down (backward).
struct FadingTime {
  std::int64_t steps, slab, window;
  bool backward, accumulate;

  __device__ std::int64_t step(std::int64_t i) const { return backward ? steps - 1 - i : i; }
};

/// sums[j] of step begin + j, for the steps that are there.
template <class T>
__device__ void sum_together(const FadingTime& time, const T* __restrict__ x, const T* weights, std::int64_t begin,
                             T (&sums)[together]) {
  const std::int64_t first = max(std::int64_t{0}, begin - time.window + 1), end = min(time.steps, begin + together);
  for (std::int64_t i = first; i < end; ++i) {
    const T value = x[time.step(i) * time.slab];
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const std::int64_t distance = begin + j - i;
      if (distance >= 0 && distance < time.window) sums[j] += weights[distance] * value;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(threads) sum_blocks(FadingTime time, const T* __restrict__ x, T* __restrict__ y) {
  T* const weights = dynamic_shared<T>();
  for (std::int64_t d = threadIdx.x; d < time.window; d += threads) weights[d] = T{1} / static_cast<T>(d + 1);
  __syncthreads();
  const std::int64_t blocks = (time.steps + together - 1) / together;
  for (std::int64_t item = grid_thread(); item < blocks * time.slab; item += grid_threads()) {
    const std::int64_t at = item % time.slab, begin = item / time.slab * together;
    T sums[together] = {};
    sum_together(time, x + at, weights, begin, sums);
#pragma unroll
    for (int j = 0; j < together; ++j) {
      if (begin + j >= time.steps) continue;
      T& to = y[time.step(begin + j) * time.slab + at];
      to = time.accumulate ? to + sums[j] : sums[j];
    }
  }
}

void run_sum(const FadingSum& op, KernelContext& context) {
  if (op.steps == 0) return;
  const FadingTime time{op.steps, op.x.elements() / op.steps, std::min(op.window, op.steps), op.backward,
                        op.accumulate};
  const std::int64_t items = (op.steps + together - 1) / together * time.slab;
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(items, threads), threads, static_cast<std::size_t>(time.window) * sizeof(T),
           sum_blocks<T>, time, op.x.data<T>(), op.y.data<T>());
  });
}

bool supports(const FadingSum& op) { return std::min(op.window, op.steps) <= longest; }

const RegisterKernel<FadingSum> blocked{Numerics::cuda, {"blocked", 5, supports, run_sum}};

}  // namespace fading_blocked_kernels
}  // namespace strobe::cuda
