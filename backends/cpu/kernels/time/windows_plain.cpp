// Plain M-transform (ESDG section 5.3), fading sum and SELU, one value at a time by the definitions. Every output of a
// sum adds up its whole window, so nothing drifts. The backward pass of a sum is the transpose: step s receives its
// share from each t of [s, s + w - 1]. Cost w additions per value of a sum, one exponential per negative value of SELU.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe {
namespace {

/// Calls body(T{}, i) for every value of `tensor`, whose type is T.
template <class Body>
void over_values(const Tensor& tensor, const KernelContext& context, const Body& body) {
  constexpr std::int64_t elements_per_task = 1 << 14;
  cpu::with_element(tensor.type(), [&](auto zero) {
    cpu::for_ranges(context, tensor.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(zero, i);
    });
  });
}

void run_m_transform(const MTransform& op, KernelContext& context) {
  const std::int64_t slab = op.steps == 0 ? 0 : op.x.elements() / op.steps;  // values of one step
  over_values(op.y, context, [&](auto sum, std::int64_t i) {
    using T = decltype(sum);
    const std::int64_t step = i / slab, position = i % slab;
    const std::int64_t first = op.backward ? step : std::max<std::int64_t>(0, step - op.window + 1);
    const std::int64_t last = op.backward ? std::min(op.steps - 1, step + op.window - 1) : step;
    for (std::int64_t s = first; s <= last; ++s) {
      const T divisor = static_cast<T>(std::min(op.window, (op.backward ? s : step) + 1));
      sum += op.x.data<T>()[s * slab + position] / divisor;
    }
    T& y = op.y.data<T>()[i];
    y = op.accumulate ? y + sum : sum;
  });
}

void run_sum(const FadingSum& op, KernelContext& context) {
  const std::int64_t slab = op.steps == 0 ? 0 : op.x.elements() / op.steps;
  over_values(op.y, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    const std::int64_t step = i / slab, reach = op.backward ? op.steps - 1 - step : step;
    double total = 0;
    for (std::int64_t d = 0; d < op.window && d <= reach; ++d) {
      const T x = op.x.data<T>()[op.backward ? i + d * slab : i - d * slab];
      total += static_cast<double>(x) / static_cast<double>(d + 1);
    }
    T& y = op.y.data<T>()[i];
    y = static_cast<T>((op.accumulate ? static_cast<double>(y) : 0.0) + total);
  });
}

void run_selu(const Selu& op, KernelContext& context) {
  over_values(op.x, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    const double x = op.x.data<T>()[i];
    op.y.data<T>()[i] = static_cast<T>(Selu::scale * (x > 0 ? x : Selu::alpha * std::expm1(x)));
  });
}

void run_selu_backward(const SeluBackward& op, KernelContext& context) {
  over_values(op.y, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    const double y = op.y.data<T>()[i];
    const double slope = y > 0 ? Selu::scale : y + Selu::scale * Selu::alpha;
    T& dx = op.dx.data<T>()[i];
    dx = static_cast<T>((op.accumulate ? static_cast<double>(dx) : 0.0) +
                        static_cast<double>(op.dy.data<T>()[i]) * slope);
  });
}

const RegisterKernel<MTransform> plain_transform{"cpu", {"plain", 0, nullptr, run_m_transform}};
const RegisterKernel<FadingSum> plain_sum{"cpu", {"plain", 0, nullptr, run_sum}};
const RegisterKernel<Selu> plain_selu{"cpu", {"plain", 0, nullptr, run_selu}};
const RegisterKernel<SeluBackward> plain_selu_backward{"cpu", {"plain", 0, nullptr, run_selu_backward}};

}  // namespace
}  // namespace strobe
