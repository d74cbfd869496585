// Vector LSTM over all steps: a tile of 4 strips of vertices walks through time with its hidden and cell states turned
// in cache (vertex_strip.hpp). x is read once, y, cells and, when asked for, gates are written once.
// Cost 8 h (F + h) FLOPs and 5 h activations a cell; for F + h below about 20 the activations take half of the time.
#include "backends/cpu/kernels/recurrence/lstm_input_layer.hpp"
#include "backends/cpu/kernels/recurrence/lstm_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_walks.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
struct Walk {
  const LstmSequence& op;
  const GatePanels<T>& panels;
  const InputLayer<T>& layer;
  std::int64_t hidden;
  Scratch<T> x, inputs, gates;  // turned, of the strip at hand

  Walk(const LstmSequence& operation, const GatePanels<T>& packed, const InputLayer<T>& front)
      : op(operation),
        panels(packed),
        layer(front),
        hidden(op.w_h.rows()),
        x(front.read * strip<T>),
        inputs(op.w_x.rows() * strip<T>),
        gates(4 * hidden * strip<T>) {}
};

/// One step of the strip whose first row is `row`; `h` and `cell` are its turned states, `next` the strip that the walk
/// visits afterwards.
template <class T>
void step_strip(Walk<T>& walk, std::int64_t row, std::int64_t rows, T* h, T* cell, const NextStrip& next) {
  const LstmSequence& op = walk.op;
  const std::int64_t hidden = walk.hidden;
  T* gates = walk.gates.data();
  load_inputs(op, walk.layer, row, rows, walk.x.data(), walk.inputs.data());
  prefetch_strip(next, op.vertices(), op.x);
  prefetch_strip(next, op.vertices(), op.x_right);
  sum_gates<T>(walk.panels, walk.inputs.data(), h, gates);
  prefetch_strip<true>(next, op.vertices(), op.y);
  activate_gates(gates, hidden * strip<T>);
  prefetch_strip<true>(next, op.vertices(), op.cells);
  advance<T>(gates, cell, cell, h, hidden * strip<T>);
  store_turned<T>(h, op.y.data<T>() + row * hidden, hidden, hidden, rows);
  store_turned<T>(cell, op.cells.data<T>() + row * hidden, hidden, hidden, rows);
  if (op.gates.defined()) {
    keep_turned<T>(gates, op.gates.data<T>() + row * 4 * hidden, 4 * hidden, rows);
  }
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const GatePanels<T> panels = lstm_panels<T>(op);
    const InputLayer<T> layer(op);
    for_ranges(context, op.vertices(), strip<T> * strips_per_tile, [&](std::int64_t begin, std::int64_t end) {
      Walk<T> walk(op, panels, layer);
      walk_strips<T>(op, begin, end, [&](std::int64_t row, std::int64_t rows, T* h, T* cell, const NextStrip& next) {
        step_strip(walk, row, rows, h, cell, next);
      });
    });
  });
}

const RegisterKernel<LstmSequence> vector{"cpu", {"vector", 10, serves_inputs<LstmSequence>, run}};

}  // namespace
}  // namespace strobe
