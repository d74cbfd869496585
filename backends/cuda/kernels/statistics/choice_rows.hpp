// The rows that a summary is chosen from (EvolveGCN-H): those of a matrix, or of a dense layer that is not stored.
#pragma once

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {

/// Rows of x [R, F], or activation(x w_t) where a weight [F, width] of each step is given: F multiply-adds a value.
template <class T>
struct ChoiceRows {
  const T *x, *w;
  std::int64_t inputs, width;
  bool with_relu;

  /// Value `f` of row `row`, one of step `step`.
  __device__ T value(std::int64_t step, std::int64_t row, std::int64_t f) const {
    if (w == nullptr) return x[row * width + f];
    T sum{0};
    for (std::int64_t j = 0; j < inputs; ++j) sum += x[row * inputs + j] * w[(step * inputs + j) * width + f];
    return with_relu && sum < T{0} ? T{0} : sum;
  }
};

template <class T, class Op>
ChoiceRows<T> choice_rows(const Op& op) {
  return {op.x.template data<T>(), op.w.defined() ? op.w.template data<T>() : nullptr, op.x.columns(),
          op.direction.rows(), op.activation == Activation::relu};
}

}  // namespace strobe::cuda
