// Shared by the backward kernels of recurrences: a row of partial sums holds dw_x, dw_h, dbias and, for an LSTM that
// makes its inputs, dw_in, one after the other.
#pragma once

#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

/// Elements of w_x, w_h and bias.
template <class Op>
std::int64_t recurrent_weights(const Op& op) {
  return op.w_x.elements() + op.w_h.elements() + op.bias.elements();
}

/// Sums of one part.
template <class Op>
std::int64_t recurrent_stride(const Op& op) {
  if constexpr (requires { op.w_in; }) return recurrent_weights(op) + op.w_in.elements();
  return recurrent_weights(op);
}

/// dw_x, dw_h, dbias, and dw_in where there is one, += the sums of `count` parts.
template <class T, class Op>
void add_recurrent_parts(const KernelContext& context, const Op& op, const double* parts, std::int64_t count) {
  const std::int64_t stride = recurrent_stride(op), weights = recurrent_weights(op), inputs = op.w_x.elements();
  const SumTargets<T> targets{{op.dw_x.template data<T>(), op.dw_h.template data<T>(), op.dbias.template data<T>()},
                              {inputs, inputs + op.w_h.elements(), weights},
                              true};
  add_parts(context, parts, count, stride, targets);
  if constexpr (requires { op.dw_in; }) {
    const std::int64_t made = op.w_in.elements();
    const SumTargets<T> layer{{op.dw_in.template data<T>(), nullptr, nullptr}, {made, made, made}, true};
    if (made > 0) add_parts(context, parts + weights, count, stride, layer);
  }
}

}  // namespace strobe::cuda
