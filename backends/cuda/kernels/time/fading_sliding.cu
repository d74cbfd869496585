// Fading sum in one pass over time per value for windows up to 32 steps (sliding_window.hpp), among them the 20 of
// TM-GCN's public code; sums in the values' type, farthest step first: smallest weights first, so that rounding stays
// near the sum's own. Compulsory bytes: x and y once. Launches: 1.
#include "backends/cuda/kernels/time/sliding_window.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe::cuda {
namespace fading_sliding_kernels {

constexpr int longest_sum = 32;  // what a thread's registers hold

template <class T>
struct FadingRule {
  const T* __restrict__ x;
  std::int64_t slab;

  __device__ T value(std::int64_t step, std::int64_t at) const { return x[step * slab + at]; }
  __device__ static constexpr T taken(std::int64_t, T value) { return value; }
  __device__ static constexpr T weight(int distance) { return T{1} / static_cast<T>(distance + 1); }
  __device__ T finish(std::int64_t, std::int64_t, T sum) const { return sum; }
};

void run_sum(const FadingSum& op, KernelContext& context) {
  if (op.steps == 0) return;
  const Timeline time = timeline(op.steps, op.x.elements() / op.steps, op.window, op.backward, op.accumulate);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch_slide<T, longest_sum>(context, time, FadingRule<T>{op.x.data<T>(), time.slab}, op.y.data<T>());
  });
}

bool supports(const FadingSum& op) { return std::min(op.window, op.steps) <= longest_sum; }

const RegisterKernel<FadingSum> sliding{"cuda", {"sliding", 10, supports, run_sum}};

}  // namespace fading_sliding_kernels
}  // namespace strobe::cuda
