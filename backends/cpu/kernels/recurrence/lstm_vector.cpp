// Vector LSTM over all steps: a tile of 4 strips of vertices walks through time with its hidden and cell states turned
// in cache (vertex_strip.hpp). x is read once, y, cells and, when asked for, gates are written once.
// Cost 8 h (F + h) FLOPs and 5 h activations a cell; for F + h below about 20 the activations take half of the time.
#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/recurrence/lstm_input_layer.hpp"
#include "backends/cpu/kernels/recurrence/lstm_panels.hpp"
#include "backends/cpu/kernels/recurrence/restarted_lanes.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Turned states of one strip.
template <class T>
struct StripState {
  Scratch<T> h, cell;
  explicit StripState(std::int64_t hidden) : h(hidden * strip<T>), cell(hidden * strip<T>) {}
};

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

/// One step of the strip whose first row is `row`; `next` is the strip that the walk visits afterwards.
template <class T>
void step_strip(Walk<T>& walk, StripState<T>& state, std::int64_t row, std::int64_t rows, const NextStrip& next) {
  const LstmSequence& op = walk.op;
  const std::int64_t hidden = walk.hidden;
  T *gates = walk.gates.data(), *h = state.h.data(), *cell = state.cell.data();
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

/// Sets the states of the lanes `at` whose sequence begins, and asks for what follows. A function of its own: what
/// timelines never need is none of their loop's registers.
template <class T>
[[gnu::noinline]] void restart_strip(const LstmSequence& op, const NextStrip& at, StripState<T>& state) {
  const std::int64_t hidden = op.w_h.rows();
  prefetch_sequences(op, at, 1);
  const std::int32_t* entries = list_rows(op.restarts, at.step * op.vertices() + at.vertex);
  const T* start = op.start.data<T>();
  restart_lanes(entries, at.rows, start, hidden, state.h.data());
  if (start != nullptr) start += op.start.elements() / 2;
  restart_lanes(entries, at.rows, start, hidden, state.cell.data());
}

template <class T>
void walk_tile(Walk<T>&& walk, std::int64_t begin, std::int64_t end) {
  const LstmSequence& op = walk.op;
  const std::int64_t hidden = walk.hidden, n = op.vertices();
  std::vector<StripState<T>> states;
  for (std::int64_t v = begin; v < end; v += strip<T>) {
    states.emplace_back(hidden);
    if (!op.start.defined() || op.restarts.defined()) continue;
    const std::int64_t rows = std::min<std::int64_t>(strip<T>, end - v);
    load_turned(op.start.data<T>() + v * hidden, hidden, hidden, rows, states.back().h.data());
    load_turned(op.start.data<T>() + (n + v) * hidden, hidden, hidden, rows, states.back().cell.data());
  }
  for (std::int64_t t = 0; t < op.steps; ++t) {
    for (std::size_t s = 0; s < states.size(); ++s) {
      const std::int64_t v = begin + static_cast<std::int64_t>(s) * strip<T>;
      NextStrip next = strip_after<T>(v, t, t + 1, begin, end);
      if (next.step == op.steps) next = {};
      const std::int64_t rows = std::min<std::int64_t>(strip<T>, end - v);
      if (op.restarts.defined()) restart_strip(op, {t, v, rows}, states[s]);
      step_strip(walk, states[s], t * n + v, rows, next);
    }
  }
  end_streams();
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const GatePanels<T> panels = lstm_panels<T>(op);
    const InputLayer<T> layer(op);
    for_ranges(context, op.vertices(), strip<T> * strips_per_tile,
               [&](std::int64_t begin, std::int64_t end) { walk_tile(Walk<T>(op, panels, layer), begin, end); });
  });
}

const RegisterKernel<LstmSequence> vector{"cpu", {"vector", 10, serves_inputs<LstmSequence>, run}};

}  // namespace
}  // namespace strobe
