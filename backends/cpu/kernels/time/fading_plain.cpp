// Plain fading sum and SELU, one value at a time by the definitions. Every output sums its whole window. Cost w
// multiplications and additions per value of a sum, one exponential per negative value of SELU.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe {
namespace {

constexpr std::int64_t elements_per_task = 1 << 14;

template <class T>
void sum(const FadingSum& op, const KernelContext& context) {
  const std::int64_t slab = op.steps == 0 ? 0 : op.x.elements() / op.steps;  // values of one step
  const T* x = op.x.data<T>();
  T* y = op.y.data<T>();
  cpu::for_ranges(context, op.x.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t step = i / slab, reach = op.backward ? op.steps - 1 - step : step;
      double total = 0;
      for (std::int64_t d = 0; d < op.window && d <= reach; ++d) {
        total += static_cast<double>(x[op.backward ? i + d * slab : i - d * slab]) / static_cast<double>(d + 1);
      }
      y[i] = static_cast<T>((op.accumulate ? static_cast<double>(y[i]) : 0.0) + total);
    }
  });
}

void run_sum(const FadingSum& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) { sum<decltype(zero)>(op, context); });
}

void run_selu(const Selu& op, KernelContext& context) {
  cpu::with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::for_ranges(context, op.x.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double x = op.x.data<T>()[i];
        op.y.data<T>()[i] = static_cast<T>(Selu::scale * (x > 0 ? x : Selu::alpha * std::expm1(x)));
      }
    });
  });
}

void run_selu_backward(const SeluBackward& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::for_ranges(context, op.y.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double y = op.y.data<T>()[i];
        const double slope = y > 0 ? Selu::scale : y + Selu::scale * Selu::alpha;
        T& dx = op.dx.data<T>()[i];
        dx = static_cast<T>((op.accumulate ? static_cast<double>(dx) : 0.0) +
                            static_cast<double>(op.dy.data<T>()[i]) * slope);
      }
    });
  });
}

const RegisterKernel<FadingSum> plain_sum{"cpu", {"plain", 0, nullptr, run_sum}};
const RegisterKernel<Selu> plain_selu{"cpu", {"plain", 0, nullptr, run_selu}};
const RegisterKernel<SeluBackward> plain_selu_backward{"cpu", {"plain", 0, nullptr, run_selu_backward}};

}  // namespace
}  // namespace strobe
