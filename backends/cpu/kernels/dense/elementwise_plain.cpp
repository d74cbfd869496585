// Operations that treat every value on its own: fill, add_scaled, the two optimisers. Ranges of values are tasks.
// SGD with momentum in the form v = momentum v + g, p -= rate v (Sutskever et al., ICML'13, as frameworks write it);
// Adam is Algorithm 1 of Kingma and Ba (ICLR'15) with its bias corrections.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;
using cpu::with_element;

constexpr std::int64_t elements_per_task = 1 << 15;

template <class T>
void fill(const Fill& op, const KernelContext& context) {
  T* y = op.y.data<T>();
  const T value = static_cast<T>(op.value);
  for_ranges(context, op.y.elements(), elements_per_task,
             [&](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, value); });
}

void run_fill(const Fill& op, KernelContext& context) {
  switch (op.y.type()) {
    case ElementType::f32:
      return fill<float>(op, context);
    case ElementType::f64:
      return fill<double>(op, context);
    case ElementType::i32:
      return fill<std::int32_t>(op, context);
    case ElementType::i64:
      return fill<std::int64_t>(op, context);
    case ElementType::u8:
      return fill<std::uint8_t>(op, context);
  }
}

void run_add_scaled(const AddScaled& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = op.x.data<T>();
    T* y = op.y.data<T>();
    const T scale = static_cast<T>(op.scale);
    for_ranges(context, op.y.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] += scale * x[i];
    });
  });
}

void run_sgd_step(const SgdStep& op, KernelContext& context) {
  with_element(op.parameters.type(), [&](auto zero) {
    using T = decltype(zero);
    T* parameters = op.parameters.data<T>();
    const T* gradient = op.gradient.data<T>();
    T* velocity = op.velocity.defined() ? op.velocity.data<T>() : nullptr;
    const T rate = static_cast<T>(op.rate), momentum = static_cast<T>(op.momentum);
    for_ranges(context, op.parameters.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T step = gradient[i];
        if (velocity != nullptr) velocity[i] = step = momentum * velocity[i] + step;
        parameters[i] -= rate * step;
      }
    });
  });
}

void run_adam_step(const AdamStep& op, KernelContext& context) {
  const double correction1 = 1.0 - std::pow(op.beta1, static_cast<double>(op.step));
  const double correction2 = 1.0 - std::pow(op.beta2, static_cast<double>(op.step));
  with_element(op.parameters.type(), [&](auto zero) {
    using T = decltype(zero);
    T* parameters = op.parameters.data<T>();
    const T* gradient = op.gradient.data<T>();
    T* first = op.first_moment.data<T>();
    T* second = op.second_moment.data<T>();
    for_ranges(context, op.parameters.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double g = gradient[i];
        const double m = op.beta1 * static_cast<double>(first[i]) + (1.0 - op.beta1) * g;
        const double v = op.beta2 * static_cast<double>(second[i]) + (1.0 - op.beta2) * g * g;
        first[i] = static_cast<T>(m);
        second[i] = static_cast<T>(v);
        const double step = op.rate * (m / correction1) / (std::sqrt(v / correction2) + op.epsilon);
        parameters[i] = static_cast<T>(static_cast<double>(parameters[i]) - step);
      }
    });
  });
}

const RegisterKernel<Fill> fill_plain{"cpu", {"plain", 0, nullptr, run_fill}};
const RegisterKernel<AddScaled> add_scaled_plain{"cpu", {"plain", 0, nullptr, run_add_scaled}};
const RegisterKernel<SgdStep> sgd_step_plain{"cpu", {"plain", 0, nullptr, run_sgd_step}};
const RegisterKernel<AdamStep> adam_step_plain{"cpu", {"plain", 0, nullptr, run_adam_step}};

}  // namespace
}  // namespace strobe
