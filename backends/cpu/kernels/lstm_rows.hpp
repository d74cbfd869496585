// What both passes of the LSTM by rows share: packed weights, and the gates of a block of vertices as rows [rows, 4 h].
// States are whole registers there, so that rows are what every pass over them reads and writes.
#pragma once

#include <array>

#include "backends/cpu/kernels/lstm_panels.hpp"
#include "backends/cpu/kernels/row_products.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t lstm_block_rows = 24;  // of gates at a time: four tiles, 24 KiB at 64 units
inline constexpr std::int64_t lstm_tile_rows = 4 * lstm_block_rows;

/// Whether the LSTM by rows serves `op`: its states are whole registers, enough of them to fill a tile's columns.
template <class Op>
bool serves_rows(const Op& op) {
  const std::int64_t lanes = op.y.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return op.w_h.rows() % (2 * lanes) == 0;
}

/// Rows of a state, `stride` values apart; a stride of 0 repeats one row.
template <class T>
struct StateRows {
  const T* first;
  std::int64_t stride;
  const T* row(std::int64_t r) const { return first + r * stride; }
};

/// Rows of `state` [T n, h] of the step before t, from vertex v on; of the `start` rows, or of `zeros` [h], for t = 0.
template <class T>
StateRows<T> rows_before(const Tensor& state, std::int64_t n, std::int64_t t, std::int64_t v, const T* start,
                         const T* zeros) {
  const std::int64_t hidden = state.columns();
  if (t > 0) return {state.data<T>() + ((t - 1) * n + v) * hidden, hidden};
  if (start != nullptr) return {start + v * hidden, hidden};
  return {zeros, 0};
}

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
  multiply_rows<T>(std::span<const RowSource<T>>(sources.data(), count), weights.bias, block.rows, ahead,
                   [=](std::int64_t r, std::int64_t column, Register<T> sum) {
                     store_first<T, most_lanes<T>>(gates + r * width + column, sum, most_lanes<T>);
                   });
}

}  // namespace strobe::cpu
