// What the backward kernels of recurrences share: dw_x, dw_h and dbias lie one behind the other in a row of partial sums.
#pragma once

#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

/// Sums of one part: the elements of w_x, w_h and bias.
template <class Op>
std::int64_t recurrent_stride(const Op& op) {
  return op.w_x.elements() + op.w_h.elements() + op.bias.elements();
}

/// dw_x, dw_h, dbias += the sums of `count` parts.
template <class T, class Op>
void add_recurrent_parts(const KernelContext& context, const Op& op, const double* parts, std::int64_t count) {
  const std::int64_t stride = recurrent_stride(op), inputs = op.w_x.elements();
  const SumTargets<T> targets{{op.dw_x.template data<T>(), op.dw_h.template data<T>(), op.dbias.template data<T>()},
                              {inputs, inputs + op.w_h.elements(), stride},
                              true};
  add_parts(context, parts, count, stride, targets);
}

}  // namespace strobe::cuda
