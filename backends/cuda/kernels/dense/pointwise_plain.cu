// Plain functions of every value by itself and their gradients: one thread a value, the arithmetic in double as on the
// cpu. Cost: one launch; every value read once and written once, neighbouring threads on neighbouring values.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_pointwise.hpp"

namespace strobe::cuda {
namespace pointwise_plain_kernels {

constexpr int threads = 256;

template <class T>
__global__ void pointwise(const T* x, T* y, std::int64_t n, Curve curve, double p, double q) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const double value = x[i];
    double result = p * value + q;
    if (curve == Curve::sigmoid) result = 1.0 / (1.0 + std::exp(-value));
    if (curve == Curve::leaky_relu) result = value > 0 ? value : p * value;
    if (curve == Curve::elu) result = value > 0 ? value : p * std::expm1(value);
    y[i] = static_cast<T>(result);
  }
}

template <class T>
__global__ void pointwise_backward(const T* y, const T* dy, T* dx, std::int64_t n, Curve curve, double p,
                                   bool accumulate) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const double value = y[i];
    double slope = p;
    if (curve == Curve::sigmoid) slope = value * (1.0 - value);
    if (curve == Curve::leaky_relu) slope = value > 0 ? 1.0 : p;
    if (curve == Curve::elu) slope = value > 0 ? 1.0 : value + p;
    const double before = accumulate ? static_cast<double>(dx[i]) : 0.0;
    dx[i] = static_cast<T>(before + static_cast<double>(dy[i]) * slope);
  }
}

template <class T>
__global__ void multiply(const T* x, const T* z, T* y, std::int64_t n, bool accumulate) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const T product = x[i] * z[i];
    y[i] = accumulate ? y[i] + product : product;
  }
}

void run_pointwise(const Pointwise& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.x.elements();
    launch(context, blocks_for(n, threads), threads, 0, pointwise<T>, op.x.data<T>(), op.y.data<T>(), n, op.curve, op.p,
           op.q);
  });
}

void run_pointwise_backward(const PointwiseBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, pointwise_backward<T>, op.y.data<T>(), op.dy.data<T>(),
           op.dx.data<T>(), n, op.curve, op.p, op.accumulate);
  });
}

void run_multiply(const Multiply& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, multiply<T>, op.x.data<T>(), op.z.data<T>(), op.y.data<T>(), n,
           op.accumulate);
  });
}

const RegisterKernel<Pointwise> forward_plain{"cuda", {"plain", 0, nullptr, run_pointwise}};
const RegisterKernel<PointwiseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_pointwise_backward}};
const RegisterKernel<Multiply> multiply_plain{"cuda", {"plain", 0, nullptr, run_multiply}};

}  // namespace pointwise_plain_kernels
}  // namespace strobe::cuda
