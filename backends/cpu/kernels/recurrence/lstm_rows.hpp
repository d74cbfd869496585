// Shared by both passes of the LSTM by rows: packed weights, and the gates of a block of vertices as rows [rows, 4 h].
#pragma once

#include <array>

#include "backends/cpu/kernels/recurrence/lstm_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_rows.hpp"

namespace strobe::cpu {

/// w_x of both inputs, w_h and the bias, packed for rows.
template <class T>
struct LstmRowWeights {
  PackedColumns<T> x, right, h;
  const T* bias;

  template <class Op>
  explicit LstmRowWeights(const Op& op) : bias(op.bias.template data<T>()) {
    const std::int64_t left = op.x.columns(), width = op.w_h.columns();
    const auto pack = [width](const Tensor& w, std::int64_t first, std::int64_t count) {
      return PackedColumns<T>(w.data<T>() + first * width, count, width);
    };
    x = pack(op.w_x, 0, left);
    if (op.x_right.defined()) right = pack(op.w_x, left, op.w_x.rows() - left);
    h = pack(op.w_h, 0, op.w_h.rows());
  }
};

/// Vertices [v, v + rows) at step t, and their states of the step before.
template <class T>
struct RowBlock {
  std::int64_t t, v, rows;
  StateRows<T> h_before;
};

/// The gates [rows, 4 h] of a block, before their activations.
template <class T, class Op>
void sum_gates_of_rows(const Op& op, const LstmRowWeights<T>& weights, const RowBlock<T>& block, LinesAhead& ahead,
                       T* gates) {
  const std::int64_t row = block.t * op.vertices() + block.v, width = 4 * op.w_h.rows();
  std::array<RowSource<T>, 3> sources;
  std::size_t count = 0;
  const auto add = [&](const T* from, std::int64_t stride, const PackedColumns<T>& of) {
    sources[count++] = {from, stride, &of};
  };
  add(op.x.template data<T>() + row * op.x.columns(), op.x.columns(), weights.x);
  if (op.x_right.defined())
    add(op.x_right.template data<T>() + row * op.x_right.columns(), op.x_right.columns(), weights.right);
  if (block.h_before.stride != 0) add(block.h_before.first, block.h_before.stride, weights.h);  // zeros add nothing
  multiply_rows<T>(std::span<const RowSource<T>>(sources.data(), count), block.rows, ahead,
                   {gates, width, width, false, weights.bias});
}

}  // namespace strobe::cpu
