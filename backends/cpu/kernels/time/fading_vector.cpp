// Vector fading sum and SELU: whole registers of one step's values at a time, which are the same vertices' features at
// every step. Each output sums its whole window, newest first, so a value does not depend on where ranges begin. Cost
// min(w, T) registers read per register of a sum, out of cache while w steps of a range of vertices fit it; each value
// is read from memory once then. SELU takes lane_math.hpp's exp(x) - 1.
#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_fading.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t elements_per_task = 1 << 14;
constexpr std::int64_t cached_bytes = 1 << 18;  // of a range's window, within the second-level cache

/// Values [begin, end) of every step.
template <class T>
void sum_range(const FadingSum& op, std::int64_t slab, const std::vector<T>& weights, std::int64_t begin,
               std::int64_t end) {
  constexpr int P = most_lanes<T>;
  const T* x = op.x.data<T>();
  T* y = op.y.data<T>();
  const std::int64_t forward = op.backward ? slab : -slab;
  for (std::int64_t k = 0; k < op.steps; ++k) {
    const std::int64_t step = op.backward ? op.steps - 1 - k : k, terms = std::min(op.window, k + 1);
    for_lanes<T>(begin, end, [&](std::int64_t i, int lanes) {
      const std::int64_t at = step * slab + i;
      Lanes<T, P> total = op.accumulate ? load_first<T, P>(y + at, lanes) : Lanes<T, P>{};
      for (std::int64_t d = 0; d < terms; ++d) total += weights[d] * load<T, P>(x + at + d * forward);
      store_first<T, P>(y + at, total, lanes);
    });
  }
}

template <class T>
void sum(const FadingSum& op, const KernelContext& context) {
  if (op.x.elements() == 0) return;
  const std::int64_t slab = op.x.elements() / op.steps, window = std::min(op.window, op.steps);
  std::vector<T> weights;
  for (std::int64_t d = 0; d < window; ++d) weights.push_back(T{1} / static_cast<T>(d + 1));
  const auto row = static_cast<std::int64_t>(sizeof(T)) * window;
  const std::int64_t grain = std::max<std::int64_t>(256, cached_bytes / row / most_lanes<T> * most_lanes<T>);
  for_ranges(context, slab, grain,
             [&](std::int64_t begin, std::int64_t end) { sum_range<T>(op, slab, weights, begin, end); });
}

void run_sum(const FadingSum& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { sum<decltype(zero)>(op, context); });
}

/// Calls body(first element, lanes) for registers that cover [0, elements).
template <class T, class Body>
void for_registers(const KernelContext& context, std::int64_t elements, const Body& body) {
  for_ranges(context, elements, elements_per_task,
             [&](std::int64_t begin, std::int64_t end) { for_lanes<T>(begin, end, body); });
}

void run_selu(const Selu& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    constexpr T scale = static_cast<T>(Selu::scale), low = static_cast<T>(Selu::scale * Selu::alpha);
    for_registers<T>(context, op.x.elements(), [&](std::int64_t i, int lanes) {
      const Lanes<T, P> x = load_row<T, P>(op.x.data<T>() + i, lanes);
      store_first<T, P>(op.y.data<T>() + i, x > Lanes<T, P>{} ? x * scale : exp_minus_one<T, P>(x) * low, lanes);
    });
  });
}

void run_selu_backward(const SeluBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    constexpr T scale = static_cast<T>(Selu::scale), low = static_cast<T>(Selu::scale * Selu::alpha);
    for_registers<T>(context, op.y.elements(), [&](std::int64_t i, int lanes) {
      const Lanes<T, P> y = load_row<T, P>(op.y.data<T>() + i, lanes);
      const Lanes<T, P> dy = load_row<T, P>(op.dy.data<T>() + i, lanes);
      const Lanes<T, P> slope = y > Lanes<T, P>{} ? broadcast<T, P>(scale) : y + low;
      const Lanes<T, P> before = op.accumulate ? load_first<T, P>(op.dx.data<T>() + i, lanes) : Lanes<T, P>{};
      store_first<T, P>(op.dx.data<T>() + i, before + dy * slope, lanes);
    });
  });
}

const RegisterKernel<FadingSum> vector_sum{"cpu", {"vector", 10, nullptr, run_sum}};
const RegisterKernel<Selu> vector_selu{"cpu", {"vector", 10, nullptr, run_selu}};
const RegisterKernel<SeluBackward> vector_selu_backward{"cpu", {"vector", 10, nullptr, run_selu_backward}};

}  // namespace
}  // namespace strobe
