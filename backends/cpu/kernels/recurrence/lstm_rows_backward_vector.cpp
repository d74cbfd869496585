// LSTM backward through all steps by rows, for states of whole registers (lstm_rows.hpp): a tile of 96 vertices walks
// back through time with the gradients of both states as rows in cache, 24 vertices at a time. The gates are read where
// the forward pass kept them, else computed once more. The gates' gradients of a tile are rows [96, 4 h] in cache, from
// which dx, the gradient of the state before and, over the tile, the weight gradients are made (strip_sums.hpp).
// Cost 8 h (2 h + 2 F) FLOPs a cell, 8 h (h + F) and 4 h activations more without kept gates.
#include <optional>

#include "backends/cpu/kernels/range_sums.hpp"
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
struct Walk {
  const LstmSequenceBackward& op;
  const BackWeights<T>& weights;
  std::int64_t n, hidden, dz_stride;
  StripSums<T> sums;
  double* bias_total;
  LinesAhead ahead;
  Scratch<T> dh, dc;  // of the tile, [rows, h]
  Scratch<T> dz, gates;
  StatesBefore<T> h_states, c_states;
  StateRows<T> h_before{}, c_before{};  // of the tile

  Walk(const LstmSequenceBackward& operation, const BackWeights<T>& packed, double* total)
      : op(operation),
        weights(packed),
        n(op.vertices()),
        hidden(op.w_h.rows()),
        dz_stride(spread_rows<T>(4 * hidden)),
        sums(op.w_x.elements() + op.w_h.elements(), 0, total),
        bias_total(total + op.w_x.elements() + op.w_h.elements()),
        dh(recurrent_tile_rows * hidden),
        dc(recurrent_tile_rows * hidden),
        dz(recurrent_tile_rows * dz_stride),
        gates(op.gates.defined() ? 0 : recurrent_block_rows * 4 * hidden),
        h_states(op, op.y, 0, recurrent_tile_rows),
        c_states(op, op.cells, op.start.rows() / 2, recurrent_tile_rows) {}

  /// Comes to step t of the tile of `rows` vertices from v on.
  void begin_step(std::int64_t t, std::int64_t v, std::int64_t rows) {
    h_before = h_states.rows(op, t, v, rows);
    c_before = c_states.rows(op, t, v, rows);
  }
};

/// to [rows, width] (+)= dz w^T.
template <class T>
void multiply_back(Walk<T>& walk, const T* dz, const PackedColumns<T>& weights, std::int64_t rows, T* to,
                   bool accumulate) {
  const RowSource<T> source{dz, walk.dz_stride, &weights};
  multiply_rows<T>(std::span<const RowSource<T>>(&source, 1), rows, walk.ahead,
                   {to, weights.width(), weights.width(), accumulate});
}

/// The gates of vertices [v, v + rows) at step t, [rows, 4 h]: kept, or computed once more.
template <class T>
const T* gates_of(Walk<T>& walk, std::int64_t t, std::int64_t v, std::int64_t rows, std::int64_t first) {
  const LstmSequenceBackward& op = walk.op;
  if (op.gates.defined()) return op.gates.data<T>() + (t * walk.n + v) * 4 * walk.hidden;
  T* const gates = walk.gates.data();
  sum_gates_of_rows(op, *walk.weights.again, RowBlock<T>{t, v, rows, walk.h_before.from(first)}, walk.ahead, gates);
  for (std::int64_t r = 0; r < rows; ++r) activate_gates(gates + r * 4 * walk.hidden, walk.hidden);
  return gates;
}

/// Step t of vertices [v, v + rows), `first` rows into their tile: leaves their dz for the weight gradients, and dh and
/// dc for the step before.
template <class T>
void step_block(Walk<T>& walk, std::int64_t t, std::int64_t v, std::int64_t rows, std::int64_t first) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t row = t * walk.n + v, hidden = walk.hidden;
  const T* const gates = gates_of(walk, t, v, rows, first);
  const StateRows<T> before = walk.c_before.from(first);
  T* const dz = walk.dz.data() + first * walk.dz_stride;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t cell = (row + r) * hidden, own = (first + r) * hidden;
    gate_gradients<T>({walk.dh.data() + own, walk.dc.data() + own, dz + r * walk.dz_stride, gates + r * 4 * hidden,
                       op.dy.data<T>() + cell, op.cells.data<T>() + cell, before.row(r)},
                      hidden);
  }
  multiply_back<T>(walk, dz, walk.weights.to_h, rows, walk.dh.data() + first * hidden, false);
  const auto put = [&](const Tensor& dx, const PackedColumns<T>& weights, bool accumulate) {
    if (dx.defined()) multiply_back<T>(walk, dz, weights, rows, dx.data<T>() + row * dx.columns(), accumulate);
  };
  put(op.dx, walk.weights.to_x, op.accumulate_dx);
  put(op.dx_right, walk.weights.to_right, op.accumulate_dx_right);
}

/// Prefetches the rows that the next block reads and writes.
template <class T>
void look_ahead(Walk<T>& walk, const NextStrip& next) {
  const LstmSequenceBackward& op = walk.op;
  walk.ahead.clear();
  walk.ahead.add(next, walk.n, op.gates);
  walk.ahead.add(next, walk.n, op.dy);
  walk.ahead.add(next, walk.n, op.cells, 1);
  walk.ahead.add(next, walk.n, op.y, 1);
  for (const Tensor* tensor : {&op.x, &op.x_right, &op.dx, &op.dx_right}) walk.ahead.add(next, walk.n, *tensor);
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
  if (walk.h_before.stride != 0) add(walk.h_before.first, walk.hidden);
  add_column_sums(walk.dz.data(), walk.dz_stride, width, count, walk.bias_total);
}

/// Adds the gradients of the cell states after lanes [v, v + rows) at step t that are handed on to dc [rows, h].
template <class T>
void add_last_rows(const LstmSequenceBackward& op, std::int64_t t, std::int64_t v, std::int64_t rows, T* dc) {
  if (!op.ends.defined() || !op.dlast.defined()) return;
  const std::int64_t hidden = op.w_h.rows();
  const std::int32_t* ends = list_rows(op.ends, t * op.vertices() + v);
  const T* dlast = op.dlast.data<T>();
  for_listed(ends, rows, [=](std::int64_t r) {
    for (std::int64_t u = 0; u < hidden; ++u) dc[r * hidden + u] += dlast[ends[r] * hidden + u];
  });
}

/// Leaves the gradients of both states before lanes [v, v + rows), a tile, whose sequence begins at step t.
template <class T>
void leave_states(Walk<T>& walk, std::int64_t t, std::int64_t v, std::int64_t rows) {
  T* const dstart = walk.op.dstart.template data<T>();
  leave_rows(walk.op, t, v, rows, dstart, walk.dh.data());
  leave_rows(walk.op, t, v, rows, dstart == nullptr ? dstart : dstart + walk.op.dstart.elements() / 2, walk.dc.data());
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t hidden = walk.hidden, values = (end - begin) * hidden;
  std::fill_n(walk.dh.data(), values, T{0});
  std::fill_n(walk.dc.data(), values, T{0});
  if (op.dlast.defined() && !op.ends.defined())
    std::copy_n(op.dlast.data<T>() + begin * hidden, values, walk.dc.data());
  for (std::int64_t t = op.steps - 1; t >= 0; --t) {
    walk.begin_step(t, begin, end - begin);
    add_last_rows(op, t, begin, end - begin, walk.dc.data());
    for (std::int64_t v = begin; v < end; v += recurrent_block_rows) {
      const std::int64_t rows = std::min(recurrent_block_rows, end - v);
      const NextStrip next = rows_after(v, recurrent_block_rows, t, t - 1, begin, end);
      if (op.restarts.defined()) prefetch_sequences(op, {t, v, rows}, -1);
      look_ahead(walk, next);
      step_block(walk, t, v, rows, v - begin);
    }
    leave_states(walk, t, begin, end - begin);
    add_weight_sums(walk, t, begin, end);
    if (t % steps_per_flush == 0) walk.sums.flush();
  }
  if (!op.dstart.defined() || op.restarts.defined()) return;
  std::copy_n(walk.dh.data(), values, op.dstart.data<T>() + begin * hidden);
  std::copy_n(walk.dc.data(), values, op.dstart.data<T>() + (walk.n + begin) * hidden);
}

template <class T>
void run_typed(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t inputs = op.w_x.rows(), hidden = op.w_h.rows(), width = 4 * hidden;
  const BackWeights<T> weights(op);
  const TileRanges ranges(op.vertices(), recurrent_tile_rows);
  const std::int64_t stride = (inputs + hidden + 1) * width;
  std::vector<double> totals(ranges.count() * stride, 0.0);
  run_tasks(context, ranges.count(), [&](std::int64_t range) {
    Walk<T> walk(op, weights, totals.data() + range * stride);
    const std::int64_t end = std::min(ranges.vertices, (range + 1) * ranges.grain);
    for (std::int64_t v = range * ranges.grain; v < end; v += ranges.tile)
      walk_tile(walk, v, std::min(end, v + ranges.tile));
  });
  add_range_sums<T>(op.dw_x, totals, 0, stride);
  add_range_sums<T>(op.dw_h, totals, inputs * width, stride);
  add_range_sums<T>(op.dbias, totals, (inputs + hidden) * width, stride);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<LstmSequenceBackward> rows{"cpu", {"rows", 15, serves_rows<LstmSequenceBackward>, run}};

}  // namespace
}  // namespace strobe
