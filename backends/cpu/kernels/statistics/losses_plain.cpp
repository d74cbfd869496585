// Weighted cross-entropy and squared error with their gradients, in one pass over the rows. Arithmetic of a row is in
// double; the loss adds up over fixed row ranges, range after range, and so does not depend on the number of threads.
// Cost: 6 S C FLOPs and 2 S C exponentials, or 5 S FLOPs.
#include <vector>

#include "backends/cpu/kernels/statistics/softmax_row.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_loss.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 4096;

/// loss += scale * sum over rows r of term(r), each range in one task.
template <class Term>
void add_terms(const KernelContext& context, std::int64_t rows, double scale, const Tensor& loss, const Term& term) {
  std::vector<double> sums(cpu::divide_up(rows, rows_per_task), 0.0);
  cpu::for_ranges(context, rows, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r) sum += term(r);
    sums[begin / rows_per_task] = sum;
  });
  double& total = *loss.data<double>();
  for (const double sum : sums) total += sum * scale;
}

void run_weighted_cross_entropy(const WeightedCrossEntropy& op, KernelContext& context) {
  const std::int64_t classes = op.logits.columns();
  cpu::with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* logits = op.logits.data<T>();
    const T* weights = op.weights.data<T>();
    T* gradient = op.gradient.defined() ? op.gradient.data<T>() : nullptr;
    const std::int32_t* labels = op.labels.data<std::int32_t>();
    add_terms(context, op.logits.rows(), op.scale, op.loss, [&](std::int64_t r) {
      const double weight = weights[r];
      return weight * cpu::softmax_row_loss(logits + r * classes, classes, labels[r], weight * op.scale,
                                            gradient == nullptr ? nullptr : gradient + r * classes);
    });
  });
}

void run_mean_squared_error(const MeanSquaredError& op, KernelContext& context) {
  cpu::with_element(op.outputs.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* outputs = op.outputs.data<T>();
    const T* targets = op.targets.data<T>();
    T* gradient = op.gradient.defined() ? op.gradient.data<T>() : nullptr;
    add_terms(context, op.outputs.rows(), op.scale, op.loss, [&](std::int64_t r) {
      const double error = static_cast<double>(outputs[r]) - static_cast<double>(targets[r]);
      if (gradient != nullptr) gradient[r] = static_cast<T>(2.0 * error * op.scale);
      return error * error;
    });
  });
}

const RegisterKernel<WeightedCrossEntropy> weighted{"cpu", {"plain", 0, nullptr, run_weighted_cross_entropy}};
const RegisterKernel<MeanSquaredError> squared{"cpu", {"plain", 0, nullptr, run_mean_squared_error}};

}  // namespace
}  // namespace strobe
