// Vector LSTM backward through all steps: a tile of 4 strips of vertices walks back through time with the gradients of
// both states turned in cache (vertex_strip.hpp). The gates are read when the forward pass kept them, else computed
// once more in registers. A step stores dx, and the gates' gradients as rows [tile,
// 4 h] in cache; the weight gradients are summed from these with x and y as they lie in memory; few of them are summed
// from the turned values (strip_sums.hpp). Cost 8 h (2 h + 2 F) FLOPs a cell, 8 h (h + F) and 4 h activations more
// without kept gates.
#include "backends/cpu/kernels/recurrence/lstm_input_layer.hpp"
#include "backends/cpu/kernels/recurrence/lstm_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_walks.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
struct Walk : WalkBack<T, LstmSequenceBackward, TurnedStates<T>> {
  const GatePanels<T>& panels;
  const Panel<T>&to_x, &to_h;
  const InputLayer<T>& layer;
  NextStrip next;
  std::int64_t inputs, dz_stride;
  // Turned; of all strips of the tile when `turned`, else of the one at hand. x are the inputs, `raw` what they are
  // made of.
  Scratch<T> x, h, dz, dx, raw;
  Scratch<T> c_before, gates, dy, rows;
  std::array<Scratch<T>, strips_per_tile> cells;  // turned c_t, which the next step back calls c_{t-1}

  Walk(const LstmSequenceBackward& operation, const GatePanels<T>& packed, const Panel<T>& back_x,
       const Panel<T>& back_h, const InputLayer<T>& front, double* total)
      : WalkBack<T, LstmSequenceBackward, TurnedStates<T>>(operation, total),
        panels(packed),
        to_x(back_x),
        to_h(back_h),
        layer(front),
        inputs(operation.w_x.rows()),
        dz_stride(spread_rows<T>(4 * this->hidden)),
        x(this->slots() * inputs * strip<T>),
        h(this->slots() * this->hidden * strip<T>),
        dz(this->slots() * 4 * this->hidden * strip<T>),
        dx(this->slots() * inputs * strip<T>),
        raw(this->slots() * front.read * strip<T>),
        c_before(this->hidden * strip<T>),
        gates(4 * this->hidden * strip<T>),
        dy(this->hidden * strip<T>),
        rows(dz_stride * strip<T> * strips_per_tile) {
    cells.fill(Scratch<T>(this->hidden * strip<T>));
  }
};

/// Adds the weight gradients of step t of a tile of vertices [begin, end).
template <class T>
void add_weight_gradients(Walk<T>& walk, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const std::int64_t inputs = walk.inputs, hidden = walk.hidden, width = 4 * hidden;
  if (walk.turned) {
    const std::int64_t strips = divide_up(end - begin, strip<T>);
    const TurnedStrips<T> dz{walk.dz.data(), width * strip<T>};
    walk.sums.add_turned(0, width, {walk.x.data(), inputs * strip<T>}, inputs, dz, width, strips);
    walk.sums.add_turned(inputs * width, width, {walk.h.data(), hidden * strip<T>}, hidden, dz, width, strips);
    if (!walk.layer.defined()) return;
    const std::int64_t read = walk.layer.read, made = walk.layer.made;
    walk.sums.add_turned((inputs + hidden) * width, made, {walk.raw.data(), read * strip<T>}, read,
                         {walk.dx.data() + read * strip<T>, inputs * strip<T>}, made, strips);
    return;
  }
  std::int64_t first = 0;
  for (const Tensor& x : {walk.op.x, walk.op.x_right}) {
    if (!x.defined()) continue;
    walk.sums.add(first * width, width, x.data<T>() + (t * walk.n + begin) * x.columns(), x.columns(), x.columns(),
                  walk.rows.data(), walk.dz_stride, width, end - begin);
    first += x.columns();
  }
  walk.sums.add(inputs * width, width, walk.before[0].first, hidden, hidden, walk.rows.data(), walk.dz_stride, width,
                end - begin);
}

/// Rows [row, row + rows) of dx and dx_right from their turned gradients, which lie next to each other, [F][strip].
template <class T>
void put_input_gradients(const LstmSequenceBackward& op, std::int64_t row, std::int64_t rows, const T* from) {
  const auto put = [&](const Tensor& dx, const T* turned, bool accumulate) {
    if (!dx.defined()) return;
    const std::int64_t columns = dx.columns();
    store_turned<T>(turned, dx.data<T>() + row * columns, columns, columns, rows, accumulate);
  };
  put(op.dx, from, op.accumulate_dx);
  put(op.dx_right, from + op.x.columns() * strip<T>, op.accumulate_dx_right);
}

/// The gradients of a strip's inputs, followed by those of the values that the inputs are made from, from its dz.
template <class T>
void input_gradients(Walk<T>& walk, std::int64_t row, std::int64_t rows, const T* dz, std::int64_t slot) {
  const LstmSequenceBackward& op = walk.op;
  const bool wanted = op.dx.defined() || op.dx_right.defined();
  if (!wanted && !walk.layer.defined()) return;
  T* dx = walk.dx.data() + slot * walk.inputs;
  multiply_panel<T>(walk.to_x, dz, dx + (wanted ? 0 : walk.layer.read) * strip<T>, false);
  if (walk.layer.defined()) walk.layer.turn_back(walk.x.data() + slot * walk.inputs, dx, wanted);
  if (wanted) put_input_gradients(op, row, rows, static_cast<const T*>(dx));
}

/// c_{t-1} of the lanes whose sequence begins is not the cell state of the step before, whose cells are read here.
template <class T>
[[gnu::noinline]] void read_cells(const LstmSequenceBackward& op, const NextStrip& at, T* cell) {
  const std::int64_t hidden = op.w_h.rows(), row = at.step * op.vertices() + at.vertex;
  if (at.step == 0) return;
  const T* above = op.cells.data<T>() + (row - op.vertices()) * hidden;
  for_listed(list_rows(op.restarts, row), at.rows, [=](std::int64_t lane) {
    for (std::int64_t u = 0; u < hidden; ++u) {
      T value = above[lane * hidden + u];
      hold_value(value);
      cell[u * strip<T> + lane] = value;
    }
  });
}

/// One step of the strip `at`, `first` rows into its tile: leaves its dz for the weight gradients and the gradients of
/// its states for the step before.
template <class T>
[[gnu::noinline]] void step_strip(Walk<T>& walk, const NextStrip& at, std::int64_t first) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t hidden = walk.hidden, width = 4 * hidden, inputs = walk.inputs, rows = at.rows;
  const std::int64_t row = at.step * walk.n + at.vertex, slot = walk.turned ? first : 0;
  Scratch<T>& cell = walk.cells[first / strip<T>];
  T *dh = walk.gradients[0].data() + first * hidden, *dc = walk.gradients[1].data() + first * hidden;
  if (at.step + 1 == op.steps) load_turned(op.cells.data<T>() + row * hidden, hidden, hidden, rows, cell.data());
  T *x = walk.x.data() + slot * inputs, *h = walk.h.data() + slot * hidden, *dz = walk.dz.data() + slot * width;
  load_turned(op.dy.data<T>() + row * hidden, hidden, hidden, rows, walk.dy.data());
  load_turned(walk.before[1].first + first * hidden, hidden, hidden, rows, walk.c_before.data());
  prefetch_strip(walk.next, walk.n, op.cells, 1);
  const LstmBack<T> back{dh, dc, dz, walk.gates.data(), walk.dy.data(), cell.data(), walk.c_before.data()};
  if (op.gates.defined()) {
    prefetch_strip(walk.next, walk.n, op.gates);
    prefetch_strip(walk.next, walk.n, op.dy);
    load_turned(op.gates.data<T>() + row * width, width, width, rows, walk.gates.data());
  } else {
    load_inputs(op, walk.layer, row, rows, walk.raw.data() + slot * walk.layer.read, x);
    load_turned(walk.before[0].first + first * hidden, hidden, hidden, rows, h);
    sum_gates<T>(walk.panels, x, h, walk.gates.data());
    prefetch_strip(walk.next, walk.n, op.dy);
    activate_gates(walk.gates.data(), hidden * strip<T>);
  }
  prefetch_strip(walk.next, walk.n, op.x);
  prefetch_strip(walk.next, walk.n, op.x_right);
  gate_gradients(back, hidden * strip<T>);
  prefetch_strip(walk.next, walk.n, op.y, 1);
  std::swap(cell, walk.c_before);
  if (op.restarts.defined()) read_cells(op, at, cell.data());
  walk.sums.add_lanes(dz);
  if (!walk.turned) store_turned<T>(dz, walk.rows.data() + first * walk.dz_stride, walk.dz_stride, width, rows);
  prefetch_strip<true>(walk.next, walk.n, op.dx);
  prefetch_strip<true>(walk.next, walk.n, op.dx_right);
  multiply_panel<T>(walk.to_h, dz, dh, false);
  input_gradients(walk, row, rows, static_cast<const T*>(dz), slot);
}

/// The panel that turns dz [4 h] into the gradients of the last rows of w [., 4 h], from row `first` on.
template <class T>
Panel<T> panel_back(const Tensor& w, std::int64_t first) {
  const std::int64_t width = w.columns();
  return make_panel<T>(w.rows() - first, width,
                       [&](std::int64_t row, std::int64_t k) { return w.data<T>()[(first + row) * width + k]; });
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const auto step = [&](const NextStrip& at, const NextStrip& next, std::int64_t first) {
    walk.next = next;
    step_strip(walk, at, first);
  };
  walk_back(walk, begin, end, step, [&](std::int64_t t) { add_weight_gradients(walk, t, begin, end); });
}

template <class T>
void run_typed(const LstmSequenceBackward& op, const KernelContext& context) {
  const GatePanels<T> panels = lstm_panels<T>(op);
  const InputLayer<T> layer(op);
  // With made inputs, the columns that are x itself have no gradient when x has none.
  const Panel<T> to_x = panel_back<T>(op.w_x, op.dx.defined() ? 0 : layer.read), to_h = panel_back<T>(op.w_h, 0);
  sum_weight_gradients<T>(
      op, context, [&](double* sums) { return Walk<T>(op, panels, to_x, to_h, layer, sums); }, walk_tile<T>);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<LstmSequenceBackward> vector{"cpu", {"vector", 10, serves_inputs<LstmSequenceBackward>, run}};

}  // namespace
}  // namespace strobe
