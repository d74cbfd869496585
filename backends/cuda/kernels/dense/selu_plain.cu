// Plain SELU (Klambauer et al., NIPS'17) and its gradient from its result: one thread a value, the arithmetic in double
// as on the cpu. Cost: one launch; every value read once and written once, neighbouring threads on neighbouring values.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe::cuda {
namespace selu_plain_kernels {

constexpr int threads = 256;

template <class T>
__global__ void selu(const T* x, T* y, std::int64_t n, double scale, double alpha) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const double value = x[i];
    y[i] = static_cast<T>(scale * (value > 0 ? value : alpha * std::expm1(value)));
  }
}

template <class T>
__global__ void selu_backward(const T* y, const T* dy, T* dx, std::int64_t n, double scale, double alpha,
                              bool accumulate) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const double value = y[i];
    const double slope = value > 0 ? scale : value + scale * alpha;
    const double before = accumulate ? static_cast<double>(dx[i]) : 0.0;
    dx[i] = static_cast<T>(before + static_cast<double>(dy[i]) * slope);
  }
}

void run_selu(const Selu& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.x.elements();
    launch(context, blocks_for(n, threads), threads, 0, selu<T>, op.x.data<T>(), op.y.data<T>(), n, Selu::scale,
           Selu::alpha);
  });
}

void run_selu_backward(const SeluBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, selu_backward<T>, op.y.data<T>(), op.dy.data<T>(),
           op.dx.data<T>(), n, Selu::scale, Selu::alpha, op.accumulate);
  });
}

const RegisterKernel<Selu> plain{"cuda", {"plain", 0, nullptr, run_selu}};
const RegisterKernel<SeluBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_selu_backward}};

}  // namespace selu_plain_kernels
}  // namespace strobe::cuda
