// Plain M-transform (ESDG section 5.3) and fading sum: every output value sums its whole window, so nothing drifts; the
// fading sum in double, nearest step first. The backward pass is the transpose: step s receives its share from each t
// of [s, s + w - 1]. Cost: w reads per value; all but the first hit a cache when the window's slabs fit one.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe::cuda {
namespace windows_plain_kernels {

template <class T>
struct Window {
  const T* x;
  T* y;
  std::int64_t steps, slab, window;
  bool backward, accumulate;
};

template <class T>
__device__ T mean_of(const Window<T>& w, std::int64_t i) {
  const std::int64_t step = i / w.slab, position = i % w.slab;
  const std::int64_t first = w.backward ? step : max(std::int64_t{0}, step - w.window + 1);
  const std::int64_t last = w.backward ? min(w.steps - 1, step + w.window - 1) : step;
  T sum{0};
  for (std::int64_t s = first; s <= last; ++s)
    sum += w.x[s * w.slab + position] / static_cast<T>(min(w.window, (w.backward ? s : step) + 1));
  return w.accumulate ? w.y[i] + sum : sum;
}

template <class T>
__device__ T fading_sum_of(const Window<T>& w, std::int64_t i) {
  const std::int64_t step = i / w.slab, reach = w.backward ? w.steps - 1 - step : step;
  double total = w.accumulate ? static_cast<double>(w.y[i]) : 0.0;
  for (std::int64_t d = 0; d < w.window && d <= reach; ++d)
    total += static_cast<double>(w.x[w.backward ? i + d * w.slab : i - d * w.slab]) / static_cast<double>(d + 1);
  return static_cast<T>(total);
}

template <class Op, class T>
__global__ void sum_windows(Window<T> w) {
  for (std::int64_t i = grid_thread(); i < w.steps * w.slab; i += grid_threads())
    w.y[i] = std::is_same_v<Op, FadingSum> ? fading_sum_of(w, i) : mean_of(w, i);
}

template <class Op>
void run(const Op& op, KernelContext& context) {
  constexpr int threads = 256;
  if (op.steps == 0) return;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Window<T> w{op.x.template data<T>(),
                      op.y.template data<T>(),
                      op.steps,
                      op.x.elements() / op.steps,
                      op.window,
                      op.backward,
                      op.accumulate};
    launch(context, blocks_for(op.x.elements(), threads), threads, 0, sum_windows<Op, T>, w);
  });
}

const RegisterKernel<MTransform> mean_plain{"cuda", {"plain", 0, nullptr, run<MTransform>}};
const RegisterKernel<FadingSum> fading_plain{"cuda", {"plain", 0, nullptr, run<FadingSum>}};

}  // namespace windows_plain_kernels
}  // namespace strobe::cuda
