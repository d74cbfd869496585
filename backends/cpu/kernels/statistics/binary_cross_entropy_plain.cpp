// Binary cross-entropy of columns with its gradient, in one pass over the logits, in double. With e = exp(-|x|),
// which cannot overflow, softplus(x) = max(x, 0) + log(1 + e) and its derivative sigmoid(x) is 1 / (1 + e) or e / (1 +
// e). The loss adds up over fixed ranges of events, range after range, and so does not depend on the number of threads.
// Cost 12 FLOPs, an exponential and a logarithm each logit.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe {
namespace {

constexpr std::int64_t events_per_task = 1024;

/// The loss of one event whose column c is true where bit c of `targets` is set; columns from 64 on are not. Writes its
/// gradient, times `scale`, when `gradient` is not null.
template <class T>
double event_loss(const T* logits, std::int64_t columns, std::uint64_t targets, double scale, T* gradient) {
  double sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const double sign = c < 64 && (targets >> c & 1) != 0 ? -1.0 : 1.0;
    const double x = sign * static_cast<double>(logits[c]), e = std::exp(-std::abs(x));
    sum += std::max(0.0, x) + std::log1p(e);
    if (gradient != nullptr) gradient[c] = static_cast<T>(sign * scale * (x > 0 ? 1.0 : e) / (1.0 + e));
  }
  return sum;
}

void run_binary(const BinaryCrossEntropy& op, KernelContext& context) {
  const std::int64_t events = op.logits.rows(), columns = op.logits.columns();
  const std::int64_t* const targets = op.targets.defined() ? op.targets.data<std::int64_t>() : nullptr;
  std::vector<double> sums(cpu::divide_up(events, events_per_task), 0.0);
  cpu::with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* logits = op.logits.data<T>();
    T* gradient = op.gradient.defined() ? op.gradient.data<T>() : nullptr;
    cpu::for_ranges(context, events, events_per_task, [&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t e = begin; e < end; ++e) {
        const std::uint64_t bits = targets == nullptr ? 1 : static_cast<std::uint64_t>(targets[e]);
        sum += event_loss(logits + e * columns, columns, bits, op.scale,
                          gradient == nullptr ? nullptr : gradient + e * columns);
      }
      sums[begin / events_per_task] = sum;
    });
  });
  double& loss = *op.loss.data<double>();
  for (const double sum : sums) loss += sum * op.scale;
}

const RegisterKernel<BinaryCrossEntropy> plain{"cpu", {"plain", 0, nullptr, run_binary}};

}  // namespace
}  // namespace strobe
