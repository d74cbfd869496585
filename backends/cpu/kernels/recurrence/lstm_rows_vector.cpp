// LSTM over all steps by rows, for states of whole registers: a tile of 96 vertices walks through time, 24 of them at a
// time, whose gates are rows [24, 4 h] in cache. x is read, and states, cells and gates are written, as they lie in
// memory; the states of the step before are read back from y and cells while the caches hold them.
// Cost 8 h (F + h) FLOPs and 5 h activations a cell.
#include "backends/cpu/kernels/recurrence/lstm_rows.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
struct Walk {
  const LstmSequence& op;
  const LstmRowWeights<T>& weights;
  Scratch<T> gates;
  StatesBefore<T> h_before, c_before;
  LinesAhead ahead;

  Walk(const LstmSequence& operation, const LstmRowWeights<T>& packed)
      : op(operation),
        weights(packed),
        gates(recurrent_block_rows * 4 * op.w_h.rows()),
        h_before(op, op.y, 0, recurrent_block_rows),
        c_before(op, op.cells, op.start.rows() / 2, recurrent_block_rows) {}
};

/// Step t of vertices [v, v + rows); `next` is the block that the walk visits afterwards.
template <class T>
void step_block(Walk<T>& walk, std::int64_t t, std::int64_t v, std::int64_t rows, const NextStrip& next) {
  const LstmSequence& op = walk.op;
  const std::int64_t n = op.vertices(), hidden = op.w_h.rows(), row = t * n + v;
  T* const gates = walk.gates.data();
  walk.ahead.clear();
  for (const Tensor* tensor : {&op.x, &op.x_right, &op.y, &op.cells}) walk.ahead.add(next, n, *tensor);
  const RowBlock<T> block{t, v, rows, walk.h_before.rows(op, t, v, rows)};
  sum_gates_of_rows(op, walk.weights, block, walk.ahead, gates);
  const StateRows<T> before = walk.c_before.rows(op, t, v, rows);
  T *cells = op.cells.data<T>() + row * hidden, *y = op.y.data<T>() + row * hidden;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const own = gates + r * 4 * hidden;
    activate_gates(own, hidden);
    advance<T>(own, before.row(r), cells + r * hidden, y + r * hidden, hidden);
    if (op.gates.defined()) keep_values<T>(own, op.gates.data<T>() + (row + r) * 4 * hidden, 4 * hidden);
  }
}

template <class T>
void walk_tile(const LstmSequence& op, const LstmRowWeights<T>& weights, std::int64_t begin, std::int64_t end) {
  Walk<T> walk(op, weights);
  for (std::int64_t t = 0; t < op.steps; ++t) {
    for (std::int64_t v = begin; v < end; v += recurrent_block_rows) {
      NextStrip next = rows_after(v, recurrent_block_rows, t, t + 1, begin, end);
      if (next.step == op.steps) next = {};
      const std::int64_t rows = std::min(recurrent_block_rows, end - v);
      if (op.restarts.defined()) prefetch_sequences(op, {t, v, rows}, 1);
      step_block(walk, t, v, rows, next);
    }
  }
  end_streams();
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const LstmRowWeights<T> weights(op);
    for_ranges(context, op.vertices(), recurrent_tile_rows,
               [&](std::int64_t begin, std::int64_t end) { walk_tile(op, weights, begin, end); });
  });
}

const RegisterKernel<LstmSequence> rows{"cpu", {"rows", 15, serves_rows<LstmSequence>, run}};

}  // namespace
}  // namespace strobe
