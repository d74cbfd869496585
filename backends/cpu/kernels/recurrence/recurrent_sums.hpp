// The sums of the weights' gradients of a recurrence, in double and in the order of ranges of vertices.
#pragma once

#include <utility>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/recurrence/states_before.hpp"

namespace strobe::cpu {

/// Sizes of a GRU; gate g reads columns (turned: rows) from own * g on of x, own = 0 when all share one input.
struct GruSizes {
  std::int64_t n, hidden, columns, inputs, own;

  template <class Op>
  explicit GruSizes(const Op& op)
      : n(op.vertices()),
        hidden(op.w_h.columns()),
        columns(op.x.columns()),
        inputs(op.w_x.rows() / 3),
        own(columns == 3 * inputs ? inputs : 0) {}
};

/// Elements of the matrices of an operation's weights.
template <class Op>
std::int64_t matrix_elements(const Op& op) {
  if constexpr (HasCells<Op>) return op.w_x.elements() + op.w_h.elements() + op.w_in.elements();
  return op.w_x.elements() + op.w_h.elements();
}

/// Adds the gradients of an operation's weights: body(begin, end, sums) adds the part of vertices [begin, end) to
/// `sums`, of w_x, w_h, w_in where the operation has it, and the bias, in double. Ranges have `grain` vertices.
template <class T, class Op, class Body>
void sum_range_gradients(const Op& op, const KernelContext& context, std::int64_t grain, const Body& body) {
  std::vector<std::pair<Tensor, Tensor>> targets{{op.w_x, op.dw_x}, {op.w_h, op.dw_h}};
  if constexpr (HasCells<Op>) targets.emplace_back(op.w_in, op.dw_in);
  targets.emplace_back(op.bias, op.dbias);
  if (op.vertices() == 0) return;
  const std::int64_t stride = matrix_elements(op) + op.bias.elements();
  std::vector<double> sums(divide_up(op.vertices(), grain) * stride, 0.0);
  for_ranges(context, op.vertices(), grain,
             [&](std::int64_t begin, std::int64_t end) { body(begin, end, sums.data() + begin / grain * stride); });
  std::int64_t first = 0;
  for (const auto& [weights, gradient] : targets) {
    add_range_sums<T>(gradient, sums, first, stride);
    first += weights.elements();
  }
}

}  // namespace strobe::cpu
