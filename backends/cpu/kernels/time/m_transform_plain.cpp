// Plain M-transform (ESDG section 5.3): every output cell sums its whole window, so nothing drifts. The backward pass
// is the transpose: step s receives dy_t / min(w, t + 1) from each t of [s, s + w - 1]. Cost w additions per cell.
#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

constexpr std::int64_t elements_per_task = 1 << 14;

template <class T>
void transform(const MTransform& op, const KernelContext& context) {
  const std::int64_t slab = op.steps == 0 ? 0 : op.x.elements() / op.steps;  // values of one step
  const T* x = op.x.data<T>();
  T* y = op.y.data<T>();
  cpu::for_ranges(context, op.x.elements(), elements_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t step = i / slab, position = i % slab;
      const std::int64_t first = op.backward ? step : std::max<std::int64_t>(0, step - op.window + 1);
      const std::int64_t last = op.backward ? std::min(op.steps - 1, step + op.window - 1) : step;
      T sum{0};
      for (std::int64_t s = first; s <= last; ++s) {
        const T divisor = static_cast<T>(std::min(op.window, (op.backward ? s : step) + 1));
        sum += x[s * slab + position] / divisor;
      }
      y[i] = op.accumulate ? y[i] + sum : sum;
    }
  });
}

void run_m_transform(const MTransform& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) { transform<decltype(zero)>(op, context); });
}

const RegisterKernel<MTransform> plain{"cpu", {"plain", 0, nullptr, run_m_transform}};

}  // namespace
}  // namespace strobe
