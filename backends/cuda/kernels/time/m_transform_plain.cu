// Plain M-transform (ESDG section 5.3): every output value sums its whole window, so nothing drifts. The backward pass
// is the transpose: step s receives dy_t / min(w, t + 1) from each t of [s, s + w - 1]. Cost: w reads per value; all
// but the first hit a cache when the window's slabs fit one.
#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace m_transform_plain_kernels {

template <class T>
__global__ void transform(const T* x, T* y, std::int64_t steps, std::int64_t slab, std::int64_t window, bool backward,
                          bool accumulate) {
  for (std::int64_t i = grid_thread(); i < steps * slab; i += grid_threads()) {
    const std::int64_t step = i / slab, position = i % slab;
    const std::int64_t first = backward ? step : max(std::int64_t{0}, step - window + 1);
    const std::int64_t last = backward ? min(steps - 1, step + window - 1) : step;
    T sum{0};
    for (std::int64_t s = first; s <= last; ++s) {
      sum += x[s * slab + position] / static_cast<T>(min(window, (backward ? s : step) + 1));
    }
    y[i] = accumulate ? y[i] + sum : sum;
  }
}

void run_m_transform(const MTransform& op, KernelContext& context) {
  constexpr int threads = 256;
  if (op.steps == 0) return;
  const std::int64_t slab = op.x.elements() / op.steps;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.x.elements(), threads), threads, 0, transform<T>, op.x.data<T>(), op.y.data<T>(),
           op.steps, slab, op.window, op.backward, op.accumulate);
  });
}

const RegisterKernel<MTransform> plain{"cuda", {"plain", 0, nullptr, run_m_transform}};

}  // namespace m_transform_plain_kernels
}  // namespace strobe::cuda
