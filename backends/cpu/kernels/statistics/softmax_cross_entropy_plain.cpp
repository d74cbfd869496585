// Softmax cross-entropy with its gradient in one pass over the rows; see softmax_row.hpp for a row. The loss adds up
// over fixed row ranges, range after range, and so does not depend on the number of threads. Cost about 6 S C FLOPs and
// 2 S C exponentials.
#include <vector>

#include "backends/cpu/kernels/statistics/softmax_row.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 4096;

void run_softmax_cross_entropy(const SoftmaxCrossEntropy& op, KernelContext& context) {
  const std::int64_t rows = op.logits.rows(), classes = op.logits.columns();
  std::vector<double> sums(cpu::divide_up(rows, rows_per_task), 0.0);
  cpu::with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* logits = op.logits.data<T>();
    T* gradient = op.gradient.defined() ? op.gradient.data<T>() : nullptr;
    const std::int32_t* labels = op.labels.data<std::int32_t>();
    cpu::for_ranges(context, rows, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      double sum = 0;
      for (std::int64_t r = begin; r < end; ++r) {
        sum += cpu::softmax_row_loss(logits + r * classes, classes, labels[r], op.scale,
                                     gradient == nullptr ? nullptr : gradient + r * classes);
      }
      sums[begin / rows_per_task] = sum;
    });
  });
  double& loss = *op.loss.data<double>();
  for (const double sum : sums) loss += sum * op.scale;
}

const RegisterKernel<SoftmaxCrossEntropy> plain{"cpu", {"plain", 0, nullptr, run_softmax_cross_entropy}};

}  // namespace
}  // namespace strobe
