// Softmax cross-entropy with its gradient in one pass over the rows. The largest logit is taken off first, so no
// exponential overflows; arithmetic inside a row is in double. The loss adds up over fixed row ranges, range after
// range, and so does not depend on the number of threads. Cost about 6 S C FLOPs and S C exponentials.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 4096;

/// -log softmax(logits)[label]; writes the gradient row when `gradient` is not null.
template <class T>
double row_loss(const T* logits, std::int64_t classes, std::int64_t label, double scale, T* gradient) {
  double largest = static_cast<double>(logits[0]);
  for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, static_cast<double>(logits[c]));
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) total += std::exp(static_cast<double>(logits[c]) - largest);
  if (gradient != nullptr) {
    for (std::int64_t c = 0; c < classes; ++c) {
      const double probability = std::exp(static_cast<double>(logits[c]) - largest) / total;
      gradient[c] = static_cast<T>((probability - (c == label ? 1.0 : 0.0)) * scale);
    }
  }
  return std::log(total) - (static_cast<double>(logits[label]) - largest);
}

void run_softmax_cross_entropy(const SoftmaxCrossEntropy& op, KernelContext& context) {
  const std::int64_t rows = op.logits.rows(), classes = op.logits.columns();
  std::vector<double> sums(static_cast<std::size_t>(cpu::divide_up(rows, rows_per_task)), 0.0);
  cpu::with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* logits = op.logits.data<T>();
    T* gradient = op.gradient.defined() ? op.gradient.data<T>() : nullptr;
    const std::int32_t* labels = op.labels.data<std::int32_t>();
    cpu::for_ranges(context, rows, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t r = begin; r < end; ++r) {
        sum += row_loss(logits + r * classes, classes, labels[r], op.scale,
                        gradient == nullptr ? nullptr : gradient + r * classes);
      }
      sums[static_cast<std::size_t>(begin / rows_per_task)] = sum;
    });
  });
  double& loss = *op.loss.data<double>();
  for (const double sum : sums) loss += sum * op.scale;
}

const RegisterKernel<SoftmaxCrossEntropy> plain{Numerics::cpu, {"plain", 0, nullptr, run_softmax_cross_entropy}};

}  // namespace
}  // namespace strobe
