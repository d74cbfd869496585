// Vector LSTM backward through all steps: a tile of 4 strips of vertices walks back through time with the gradients of
// both states turned in cache (vertex_strip.hpp). The gates are read when the forward pass kept them, else computed
// once more in registers. A step stores dx, and the gates' gradients as rows [tile,
// 4 h] in cache; the weight gradients are summed from these with x and y as they lie in memory; few of them are summed
// from the turned values (strip_sums.hpp). Cost 8 h (2 h + 2 F) FLOPs a cell, 8 h (h + F) and 4 h activations more
// without kept gates.
#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/recurrence/lstm_input_layer.hpp"
#include "backends/cpu/kernels/recurrence/lstm_panels.hpp"
#include "backends/cpu/kernels/recurrence/restarted_lanes.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Turned gradients of the states of one strip, and the cell state c_t that the next step back calls c_{t-1}.
template <class T>
struct StripState {
  Scratch<T> dh, dc, cell;
  explicit StripState(std::int64_t hidden) : dh(hidden * strip<T>), dc(hidden * strip<T>), cell(hidden * strip<T>) {}
};

template <class T>
struct Walk {
  const LstmSequenceBackward& op;
  const GatePanels<T>& panels;
  const Panel<T>&to_x, &to_h;
  const InputLayer<T>& layer;
  bool turned;  // whether weight gradients are summed from turned values, which few of them are
  StripSums<T> sums;
  std::int64_t n, inputs, hidden, dz_stride;
  NextStrip next;
  // Turned; of all strips of the tile when `turned`, else of the one at hand. x are the inputs, `raw` what they are
  // made of.
  Scratch<T> x, h, dz, dx, raw;
  Scratch<T> before, gates, dy, rows, zeros;
  Scratch<T> gathered_h, gathered_c;  // states before of the tile, where some come from elsewhere than the rows above
  const T *h_before = nullptr, *c_before = nullptr;  // h_{t-1} and c_{t-1} of the tile, rows [., h]

  Walk(const LstmSequenceBackward& operation, const GatePanels<T>& packed, const Panel<T>& back_x,
       const Panel<T>& back_h, const InputLayer<T>& front, double* total)
      : op(operation),
        panels(packed),
        to_x(back_x),
        to_h(back_h),
        layer(front),
        turned(!op.gates.defined() && weights() <= most_turned_sums),
        sums(weights(), op.w_h.columns(), total, turned),
        n(op.vertices()),
        inputs(op.w_x.rows()),
        hidden(op.w_h.rows()),
        dz_stride(spread_rows<T>(4 * hidden)),
        x(slots() * inputs * strip<T>),
        h(slots() * hidden * strip<T>),
        dz(slots() * 4 * hidden * strip<T>),
        dx(slots() * inputs * strip<T>),
        raw(slots() * front.read * strip<T>),
        before(hidden * strip<T>),
        gates(4 * hidden * strip<T>),
        dy(hidden * strip<T>),
        rows(dz_stride * strip<T> * strips_per_tile),
        zeros(hidden * strip<T> * strips_per_tile),
        gathered_h(op.restarts.defined() ? hidden * strip<T> * strips_per_tile : 0),
        gathered_c(op.restarts.defined() ? hidden * strip<T> * strips_per_tile : 0) {}

  /// Comes to step t of the tile of `count` vertices from v on.
  [[gnu::noinline]] void begin_step(std::int64_t t, std::int64_t v, std::int64_t count) {
    if (any_restarts(op, t, v, count)) {
      gather_states(op, op.y, 0, t, v, count, gathered_h.data());
      gather_states(op, op.cells, op.start.rows() / 2, t, v, count, gathered_c.data());
      h_before = gathered_h.data(), c_before = gathered_c.data();
    } else if (t > 0) {
      const std::int64_t above = ((t - 1) * n + v) * hidden;
      h_before = op.y.template data<T>() + above, c_before = op.cells.template data<T>() + above;
    } else {
      const T* start = op.start.template data<T>();
      h_before = start == nullptr ? zeros.data() : start + v * hidden;
      c_before = start == nullptr ? zeros.data() : start + (n + v) * hidden;
    }
  }

  /// Strips whose values are kept until the weight gradients are summed.
  std::int64_t slots() const { return turned ? strips_per_tile : 1; }
  /// Elements of w_x, w_h and w_in, in the order of their sums.
  std::int64_t weights() const { return op.w_x.elements() + op.w_h.elements() + op.w_in.elements(); }
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
  walk.sums.add(inputs * width, width, walk.h_before, hidden, hidden, walk.rows.data(), walk.dz_stride, width,
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

/// One step of the strip of vertices [v, v + rows), the s-th of its tile: leaves its dz for the weight gradients and
/// its dh, dc for the step before.
template <class T>
void step_strip(Walk<T>& walk, StripState<T>& state, std::int64_t t, std::int64_t v, std::int64_t rows,
                std::int64_t s) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t row = t * walk.n + v, hidden = walk.hidden, width = 4 * hidden, inputs = walk.inputs;
  const std::int64_t slot = walk.turned ? s * strip<T> : 0;
  T *x = walk.x.data() + slot * inputs, *h = walk.h.data() + slot * hidden, *dz = walk.dz.data() + slot * width;
  load_turned(op.dy.data<T>() + row * hidden, hidden, hidden, rows, walk.dy.data());
  load_turned(walk.c_before + s * strip<T> * hidden, hidden, hidden, rows, walk.before.data());
  prefetch_strip(walk.next, walk.n, op.cells, 1);
  const LstmBack<T> back{state.dh.data(),   state.dc.data(),   dz, walk.gates.data(), walk.dy.data(),
                         state.cell.data(), walk.before.data()};
  if (op.gates.defined()) {
    prefetch_strip(walk.next, walk.n, op.gates);
    prefetch_strip(walk.next, walk.n, op.dy);
    load_turned(op.gates.data<T>() + row * width, width, width, rows, walk.gates.data());
  } else {
    load_inputs(op, walk.layer, row, rows, walk.raw.data() + slot * walk.layer.read, x);
    load_turned(walk.h_before + s * strip<T> * hidden, hidden, hidden, rows, h);
    sum_gates<T>(walk.panels, x, h, walk.gates.data());
    prefetch_strip(walk.next, walk.n, op.dy);
    activate_gates(walk.gates.data(), hidden * strip<T>);
  }
  prefetch_strip(walk.next, walk.n, op.x);
  prefetch_strip(walk.next, walk.n, op.x_right);
  gate_gradients(back, hidden * strip<T>);
  prefetch_strip(walk.next, walk.n, op.y, 1);
  std::swap(state.cell, walk.before);
  walk.sums.add_lanes(dz);
  if (!walk.turned) store_turned<T>(dz, walk.rows.data() + s * strip<T> * walk.dz_stride, walk.dz_stride, width, rows);
  prefetch_strip<true>(walk.next, walk.n, op.dx);
  prefetch_strip<true>(walk.next, walk.n, op.dx_right);
  multiply_panel<T>(walk.to_h, dz, state.dh.data(), false);
  input_gradients(walk, row, rows, static_cast<const T*>(dz), slot);
}

/// Adds the gradients of the cell states of the lanes `at` that are handed on, and asks for what follows. Packed
/// sequences have functions of their own: what timelines never need is none of their loop's registers.
template <class T>
[[gnu::noinline]] void begin_packed(const LstmSequenceBackward& op, const NextStrip& at, StripState<T>& state) {
  prefetch_sequences(op, at, -1);
  if (!op.ends.defined() || !op.dlast.defined()) return;
  add_last_lanes(list_rows(op.ends, at.step * op.vertices() + at.vertex), at.rows, op.dlast.data<T>(), op.w_h.rows(),
                 state.dc.data());
}

/// Leaves the gradients of the states before the lanes `at` whose sequence begins; the step before has another cell
/// state there.
template <class T>
[[gnu::noinline]] void end_packed(const LstmSequenceBackward& op, const NextStrip& at, StripState<T>& state) {
  const std::int64_t hidden = op.w_h.rows(), row = at.step * op.vertices() + at.vertex;
  const std::int32_t* entries = list_rows(op.restarts, row);
  T* dstart = op.dstart.data<T>();
  leave_lanes(entries, at.rows, dstart, hidden, state.dh.data());
  if (dstart != nullptr) dstart += op.dstart.elements() / 2;
  leave_lanes(entries, at.rows, dstart, hidden, state.dc.data());
  if (at.step == 0) return;
  const T* above = op.cells.data<T>() + (row - op.vertices()) * hidden;
  T* cell = state.cell.data();
  for_listed(entries, at.rows, [=](std::int64_t lane) {
    for (std::int64_t u = 0; u < hidden; ++u) {
      T value = above[lane * hidden + u];
      hold_value(value);
      cell[u * strip<T> + lane] = value;
    }
  });
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const LstmSequenceBackward& op = walk.op;
  const std::int64_t hidden = walk.hidden, last = op.steps - 1;
  std::vector<StripState<T>> states;
  for (std::int64_t v = begin; v < end; v += strip<T>) {
    const std::int64_t rows = std::min<std::int64_t>(strip<T>, end - v);
    states.emplace_back(hidden);
    load_turned(op.cells.data<T>() + (last * walk.n + v) * hidden, hidden, hidden, rows, states.back().cell.data());
    if (op.dlast.defined() && !op.ends.defined()) {
      load_turned(op.dlast.data<T>() + v * hidden, hidden, hidden, rows, states.back().dc.data());
    }
  }
  for (std::int64_t t = last; t >= 0; --t) {
    walk.begin_step(t, begin, end - begin);
    for (std::size_t s = 0; s < states.size(); ++s) {
      const std::int64_t v = begin + static_cast<std::int64_t>(s) * strip<T>;
      const std::int64_t rows = std::min<std::int64_t>(strip<T>, end - v);
      walk.next = strip_after<T>(v, t, t - 1, begin, end);
      if (op.restarts.defined()) begin_packed(op, {t, v, rows}, states[s]);
      step_strip(walk, states[s], t, v, rows, static_cast<std::int64_t>(s));
      if (op.restarts.defined()) end_packed(op, {t, v, rows}, states[s]);
    }
    add_weight_gradients(walk, t, begin, end);
    if (t % steps_per_flush == 0) walk.sums.flush();
  }
  for (std::size_t s = 0; op.dstart.defined() && !op.restarts.defined() && s < states.size(); ++s) {
    const std::int64_t v = begin + static_cast<std::int64_t>(s) * strip<T>;
    const std::int64_t rows = std::min<std::int64_t>(strip<T>, end - v);
    store_turned<T>(states[s].dh.data(), op.dstart.data<T>() + v * hidden, hidden, hidden, rows);
    store_turned<T>(states[s].dc.data(), op.dstart.data<T>() + (walk.n + v) * hidden, hidden, hidden, rows);
  }
}

/// The panel that turns dz [4 h] into the gradients of the last rows of w [., 4 h], from row `first` on.
template <class T>
Panel<T> panel_back(const Tensor& w, std::int64_t first) {
  const std::int64_t width = w.columns();
  return make_panel<T>(w.rows() - first, width,
                       [&](std::int64_t row, std::int64_t k) { return w.data<T>()[(first + row) * width + k]; });
}

template <class T>
void run_typed(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t inputs = op.w_x.rows(), hidden = op.w_h.rows(), width = 4 * hidden;
  const GatePanels<T> panels = lstm_panels<T>(op);
  const InputLayer<T> layer(op);
  // With made inputs, the columns that are x itself have no gradient when x has none.
  const Panel<T> to_x = panel_back<T>(op.w_x, op.dx.defined() ? 0 : layer.read), to_h = panel_back<T>(op.w_h, 0);
  const TileRanges ranges(op.vertices(), strip<T> * strips_per_tile);
  const std::int64_t weights = (inputs + hidden) * width + op.w_in.elements(), stride = weights + width;
  std::vector<double> totals(ranges.count() * stride, 0.0);
  run_tasks(context, ranges.count(), [&](std::int64_t range) {
    Walk<T> walk(op, panels, to_x, to_h, layer, totals.data() + range * stride);
    const std::int64_t end = std::min(ranges.vertices, (range + 1) * ranges.grain);
    for (std::int64_t v = range * ranges.grain; v < end; v += ranges.tile) {
      walk_tile(walk, v, std::min(end, v + ranges.tile));
    }
  });
  add_range_sums<T>(op.dw_x, totals, 0, stride);
  add_range_sums<T>(op.dw_h, totals, inputs * width, stride);
  add_range_sums<T>(op.dw_in, totals, (inputs + hidden) * width, stride);
  add_range_sums<T>(op.dbias, totals, weights, stride);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<LstmSequenceBackward> vector{"cpu", {"vector", 10, serves_inputs<LstmSequenceBackward>, run}};

}  // namespace
}  // namespace strobe
