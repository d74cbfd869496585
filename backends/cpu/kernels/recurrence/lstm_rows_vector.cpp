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
  std::array<StatesBefore<T>, 2> before;
  LinesAhead ahead;

  Walk(const LstmSequence& operation, const LstmRowWeights<T>& packed)
      : op(operation),
        weights(packed),
        gates(recurrent_block_rows * 4 * op.w_h.rows()),
        before(states_before<T>(op, recurrent_block_rows, 1)) {}
};

/// One step of the block `at`; `next` is the block that the walk visits afterwards.
template <class T>
void step_block(Walk<T>& walk, const NextStrip& at, const NextStrip& next) {
  const LstmSequence& op = walk.op;
  const std::int64_t t = at.step, v = at.vertex, rows = at.rows;
  const std::int64_t n = op.vertices(), hidden = op.w_h.rows(), row = t * n + v;
  T* const gates = walk.gates.data();
  walk.ahead.clear();
  for (const Tensor* tensor : {&op.x, &op.x_right, &op.y, &op.cells}) walk.ahead.add(next, n, *tensor);
  const RowBlock<T> block{t, v, rows, walk.before[0].rows(op, t, v, rows)};
  sum_gates_of_rows(op, walk.weights, block, walk.ahead, gates);
  const StateRows<T> before = walk.before[1].rows(op, t, v, rows);
  T *cells = op.cells.data<T>() + row * hidden, *y = op.y.data<T>() + row * hidden;
  for (std::int64_t r = 0; r < rows; ++r) {
    T* const own = gates + r * 4 * hidden;
    activate_gates(own, hidden);
    advance<T>(own, before.row(r), cells + r * hidden, y + r * hidden, hidden);
    if (op.gates.defined()) keep_values<T>(own, op.gates.data<T>() + (row + r) * 4 * hidden, 4 * hidden);
  }
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const LstmRowWeights<T> weights(op);
    for_ranges(context, op.vertices(), recurrent_tile_rows, [&](std::int64_t begin, std::int64_t end) {
      Walk<T> walk(op, weights);
      walk_rows(op, begin, end, [&](const NextStrip& at, const NextStrip& next) { step_block(walk, at, next); });
    });
  });
}

const RegisterKernel<LstmSequence> rows{"cpu", {"rows", 15, serves_rows<LstmSequence>, run}};

}  // namespace
}  // namespace strobe
