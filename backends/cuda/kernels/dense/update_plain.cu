// Plain steps of SGD and Adam: one thread a parameter, threads taking turns one grid apart. The arithmetic is the cpu
// kernels': SGD in the element type, Adam (Kingma and Ba, ICLR'15, Algorithm 1) in double. Cost: one launch; every
// value read once and written once, neighbouring threads on neighbouring values.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace update_plain_kernels {

constexpr int threads = 256;

template <class T>
__global__ void sgd_step(T* parameters, const T* gradient, T* velocity, std::int64_t n, T rate, T momentum) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    T step = gradient[i];
    if (velocity != nullptr) velocity[i] = step = momentum * velocity[i] + step;
    parameters[i] -= rate * step;
  }
}

struct AdamRates {
  double rate, beta1, beta2, epsilon, correction1, correction2;
};

template <class T>
__global__ void adam_step(T* parameters, const T* gradient, T* first, T* second, std::int64_t n, AdamRates a) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const double g = gradient[i];
    const double m = a.beta1 * static_cast<double>(first[i]) + (1.0 - a.beta1) * g;
    const double v = a.beta2 * static_cast<double>(second[i]) + (1.0 - a.beta2) * g * g;
    first[i] = static_cast<T>(m);
    second[i] = static_cast<T>(v);
    const double step = a.rate * (m / a.correction1) / (std::sqrt(v / a.correction2) + a.epsilon);
    parameters[i] = static_cast<T>(static_cast<double>(parameters[i]) - step);
  }
}

void run_sgd_step(const SgdStep& op, KernelContext& context) {
  with_element(op.parameters.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.parameters.elements();
    launch(context, blocks_for(n, threads), threads, 0, sgd_step<T>, op.parameters.data<T>(), op.gradient.data<T>(),
           op.velocity.data<T>(), n, static_cast<T>(op.rate), static_cast<T>(op.momentum));
  });
}

void run_adam_step(const AdamStep& op, KernelContext& context) {
  const double step = op.step;
  const AdamRates rates{
      op.rate, op.beta1, op.beta2, op.epsilon, 1.0 - std::pow(op.beta1, step), 1.0 - std::pow(op.beta2, step)};
  with_element(op.parameters.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.parameters.elements();
    launch(context, blocks_for(n, threads), threads, 0, adam_step<T>, op.parameters.data<T>(), op.gradient.data<T>(),
           op.first_moment.data<T>(), op.second_moment.data<T>(), n, rates);
  });
}

const RegisterKernel<SgdStep> sgd_plain{"cuda", {"plain", 0, nullptr, run_sgd_step}};
const RegisterKernel<AdamStep> adam_plain{"cuda", {"plain", 0, nullptr, run_adam_step}};

}  // namespace update_plain_kernels
}  // namespace strobe::cuda
