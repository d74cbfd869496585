// Vector GRU over all steps: a tile of 4 strips of vertices walks through time with its state turned in cache
// (vertex_strip.hpp). x is read once, y and, when asked for, gates are written once.
// Cost 6 h (F + h) FLOPs and 3 h activations a cell.
#include "backends/cpu/kernels/recurrence/gru_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_walks.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
struct Walk {
  const GruSequence& op;
  const GruPanels<T>& panels;
  Scratch<T> x, gates, reset;  // of the strip at hand

  Walk(const GruSequence& operation, const GruPanels<T>& packed)
      : op(operation),
        panels(packed),
        x(panels.columns * strip<T>),
        gates(3 * panels.hidden * strip<T>),
        reset(panels.hidden * strip<T>) {}
};

/// One step of the strip whose first row is `row`; `h` is its turned state, `next` the strip that the walk visits
/// afterwards.
template <class T>
void step_strip(Walk<T>& walk, std::int64_t row, std::int64_t rows, T* h, const NextStrip& next) {
  constexpr int P = most_lanes<T>;
  const GruSequence& op = walk.op;
  const std::int64_t columns = walk.panels.columns, hidden = walk.panels.hidden, size = hidden * strip<T>;
  load_turned(op.x.data<T>() + row * columns, columns, columns, rows, walk.x.data());
  prefetch_strip(next, op.vertices(), op.x);
  T* gates = walk.gates.data();
  activate_gates(walk.panels, static_cast<const T*>(walk.x.data()), static_cast<const T*>(h), gates, walk.reset.data());
  prefetch_strip<true>(next, op.vertices(), op.y);
  for (std::int64_t i = 0; i < size; i += P) {
    const Register<T> z = load<T, P>(gates + size + i), fresh = load<T, P>(gates + 2 * size + i);
    store_first<T, P>(h + i, fresh + z * (load<T, P>(h + i) - fresh), P);
  }
  store_turned(static_cast<const T*>(h), op.y.data<T>() + row * hidden, hidden, hidden, rows);
  if (op.gates.defined()) {
    keep_turned(static_cast<const T*>(gates), op.gates.data<T>() + row * 3 * hidden, 3 * hidden, rows);
  }
}

void run(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const GruPanels<T> panels(op);
    for_ranges(context, op.vertices(), strip<T> * strips_per_tile, [&](std::int64_t begin, std::int64_t end) {
      Walk<T> walk(op, panels);
      walk_strips<T>(op, begin, end, [&](std::int64_t row, std::int64_t rows, T* h, const NextStrip& next) {
        step_strip(walk, row, rows, h, next);
      });
    });
  });
}

const RegisterKernel<GruSequence> vector{"cpu", {"vector", 10, nullptr, run}};

}  // namespace
}  // namespace strobe
