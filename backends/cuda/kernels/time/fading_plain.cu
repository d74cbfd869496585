// Plain fading sum: every output value sums its whole window, in double, nearest step first. Cost: w reads per value;
// all but the first hit a cache when the window's slabs fit one.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe::cuda {
namespace fading_plain_kernels {

template <class T>
__global__ void sum_window(const T* x, T* y, std::int64_t steps, std::int64_t slab, std::int64_t window, bool backward,
                           bool accumulate) {
  for (std::int64_t i = grid_thread(); i < steps * slab; i += grid_threads()) {
    const std::int64_t step = i / slab, reach = backward ? steps - 1 - step : step;
    double total = accumulate ? static_cast<double>(y[i]) : 0.0;
    for (std::int64_t d = 0; d < window && d <= reach; ++d) {
      total += static_cast<double>(x[backward ? i + d * slab : i - d * slab]) / static_cast<double>(d + 1);
    }
    y[i] = static_cast<T>(total);
  }
}

void run_sum(const FadingSum& op, KernelContext& context) {
  constexpr int threads = 256;
  if (op.steps == 0) return;
  const std::int64_t slab = op.x.elements() / op.steps;
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.x.elements(), threads), threads, 0, sum_window<T>, op.x.data<T>(), op.y.data<T>(),
           op.steps, slab, op.window, op.backward, op.accumulate);
  });
}

const RegisterKernel<FadingSum> plain{"cuda", {"plain", 0, nullptr, run_sum}};

}  // namespace fading_plain_kernels
}  // namespace strobe::cuda
