// LSTM backward through all steps by rows, for states of whole registers (lstm_rows.hpp): a tile of 96 vertices walks
// back through time with the gradients of both states as rows in cache, 24 vertices at a time. The gates are read where
// the forward pass kept them, else computed once more. The gates' gradients of a tile are rows [96, 4 h] in cache, from
// which dx, the gradient of the state before and, over the tile, the weight gradients are made (strip_sums.hpp).
// Cost 8 h (2 h + 2 F) FLOPs a cell, 8 h (h + F) and 4 h activations more without kept gates.
#include <optional>

#include "backends/cpu/kernels/recurrence/lstm_rows.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// The weights as this pass multiplies with them: w^T, and w where gates are computed once more.
template <class T>
struct BackWeights {
  std::optional<LstmRowWeights<T>> again;
  PackedColumns<T> to_x, to_right, to_h;

  explicit BackWeights(const LstmSequenceBackward& op) {
    const std::int64_t width = op.w_h.columns(), left = op.x.columns();
    const auto turned = [width](const Tensor& w, std::int64_t first, std::int64_t count) {
      return PackedColumns<T>::turned(w.data<T>() + first * width, width, count);
    };
    if (!op.gates.defined()) again.emplace(op);
    if (op.dx.defined()) to_x = turned(op.w_x, 0, left);
    if (op.dx_right.defined()) to_right = turned(op.w_x, left, op.w_x.rows() - left);
    to_h = turned(op.w_h, 0, op.w_h.rows());
  }
};

template <class T>
struct Walk : RowsBack<T, LstmSequenceBackward> {
  const BackWeights<T>& weights;

  Walk(const LstmSequenceBackward& operation, const BackWeights<T>& packed, double* total)
      : RowsBack<T, LstmSequenceBackward>(operation, total), weights(packed) {}
};

/// to [rows, width] (+)= dz w^T.
template <class T>
void multiply_back(Walk<T>& walk, const T* dz, const PackedColumns<T>& weights, std::int64_t rows, T* to,
                   bool accumulate) {
  const RowSource<T> source{dz, walk.dz_stride, &weights};
  multiply_rows<T>(std::span<const RowSource<T>>(&source, 1), rows, walk.ahead,
                   {to, weights.width(), weights.width(), accumulate});
}

/// The gates of the block `at`, [rows, 4 h]: kept, or computed once more.
template <class T>
const T* gates_of(Walk<T>& walk, const NextStrip& at, std::int64_t first) {
  const LstmSequenceBackward& op = walk.op;
  if (op.gates.defined()) return op.gates.data<T>() + (at.step * walk.n + at.vertex) * walk.width;
  T* const gates = walk.gates.data();
  sum_gates_of_rows(op, *walk.weights.again, RowBlock<T>{at.step, at.vertex, at.rows, walk.before[0].from(first)},
                    walk.ahead, gates);
  for (std::int64_t r = 0; r < at.rows; ++r) activate_gates(gates + r * walk.width, walk.hidden);
  return gates;
}

/// One step of the block `at`, `first` rows into its tile: leaves dz for the weight gradients, and the gradients of the
/// states for the step before.
template <class T>
void step_block(Walk<T>& walk, const NextStrip& at, std::int64_t first) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t row = at.step * walk.n + at.vertex, rows = at.rows, hidden = walk.hidden;
  T *const dh = walk.gradients[0].data() + first * hidden, *const dc = walk.gradients[1].data() + first * hidden;
  const T* const gates = gates_of(walk, at, first);
  const StateRows<T> before = walk.before[1].from(first);
  T* const dz = walk.dz.data() + first * walk.dz_stride;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t cell = (row + r) * hidden;
    gate_gradients<T>({dh + r * hidden, dc + r * hidden, dz + r * walk.dz_stride, gates + r * 4 * hidden,
                       op.dy.data<T>() + cell, op.cells.data<T>() + cell, before.row(r)},
                      hidden);
  }
  multiply_back<T>(walk, dz, walk.weights.to_h, rows, dh, false);
  const auto put = [&](const Tensor& dx, const PackedColumns<T>& weights, bool accumulate) {
    if (dx.defined()) multiply_back<T>(walk, dz, weights, rows, dx.data<T>() + row * dx.columns(), accumulate);
  };
  put(op.dx, walk.weights.to_x, op.accumulate_dx);
  put(op.dx_right, walk.weights.to_right, op.accumulate_dx_right);
}

/// Adds the weight gradients of step t of a tile of vertices [begin, end).
template <class T>
void add_weight_sums(Walk<T>& walk, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = 4 * walk.hidden, count = end - begin;
  std::int64_t first = 0;
  const auto add = [&](const T* rows, std::int64_t columns) {
    walk.sums.add(first * width, width, rows, columns, columns, walk.dz.data(), walk.dz_stride, width, count);
  };
  for (const Tensor& x : {walk.op.x, walk.op.x_right}) {
    if (!x.defined()) continue;
    add(x.data<T>() + (t * walk.n + begin) * x.columns(), x.columns());
    first += x.columns();
  }
  if (walk.before[0].stride != 0) add(walk.before[0].first, walk.hidden);
  add_column_sums(walk.dz.data(), walk.dz_stride, width, count, walk.bias_total);
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const auto step = [&](const NextStrip& at, const NextStrip& next, std::int64_t first) {
    walk.look_ahead(next);
    step_block(walk, at, first);
  };
  walk_back(walk, begin, end, step, [&](std::int64_t t) { add_weight_sums(walk, t, begin, end); });
}

template <class T>
void run_typed(const LstmSequenceBackward& op, const KernelContext& context) {
  const BackWeights<T> weights(op);
  sum_weight_gradients<T>(
      op, context, [&](double* sums) { return Walk<T>(op, weights, sums); }, walk_tile<T>);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<LstmSequenceBackward> rows{"cpu", {"rows", 15, serves_rows<LstmSequenceBackward>, run}};

}  // namespace
}  // namespace strobe
