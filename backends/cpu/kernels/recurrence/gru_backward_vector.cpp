// Vector GRU backward through all steps: a tile of 4 strips of vertices walks back through time with the gradient of
// the state turned in cache (vertex_strip.hpp). The gates are read when the forward pass kept them, else computed once
// more. The gates' gradients and r h leave a step as rows of the tile in cache, from which the weight gradients are
// summed with x and y as they lie in memory; few of them are summed from the turned values (strip_sums.hpp). Cost 6 h
// (2 h + 2 F) FLOPs a cell, 6 h (h + F) and 3 h activations more without kept gates.
#include "backends/cpu/kernels/recurrence/gru_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_walks.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// The transposed weights: the gradient of a gate to that of its state and of its input.
template <class T>
struct BackPanels {
  Panel<T> candidate_to_state, gates_to_state;  // gates_to_state: r and z together
  std::vector<Panel<T>> to_x;                   // per gate, or one for all when they share their input

  BackPanels(const GruSequenceBackward& op, const GruPanels<T>& sizes) {
    const std::int64_t h = sizes.hidden, inputs = sizes.inputs;
    const T *w_x = op.w_x.data<T>(), *w_h = op.w_h.data<T>();
    candidate_to_state = make_panel<T>(h, h, [=](std::int64_t k, std::int64_t u) { return w_h[(2 * h + k) * h + u]; });
    const auto both = [=](std::int64_t k, std::int64_t j) { return w_h[(j / h * h + k) * h + j % h]; };
    gates_to_state = make_panel<T>(h, 2 * h, both);
    for (std::int64_t g = 0; g < (sizes.own == 0 ? 1 : 3); ++g) {
      to_x.push_back(make_panel<T>(inputs, sizes.own == 0 ? 3 * h : h, [=](std::int64_t f, std::int64_t j) {
        return w_x[((g + j / h) * inputs + f) * h + j % h];
      }));
    }
  }
};

template <class T>
struct Walk : WalkBack<T, GruSequenceBackward, TurnedStates<T>> {
  const GruPanels<T>& panels;
  const BackPanels<T>& back;
  NextStrip next;
  Scratch<T> x, h, reset, dz;      // turned; of all strips of the tile when `turned`, else of the one at hand
  Scratch<T> gates, work, dx;      // of the strip at hand, turned
  Scratch<T> dz_rows, reset_rows;  // of the tile, as rows

  Walk(const GruSequenceBackward& operation, const GruPanels<T>& packed, const BackPanels<T>& packed_back,
       double* total)
      : WalkBack<T, GruSequenceBackward, TurnedStates<T>>(operation, total),
        panels(packed),
        back(packed_back),
        x(this->slots() * packed.columns * strip<T>),
        h(this->slots() * packed.hidden * strip<T>),
        reset(this->slots() * packed.hidden * strip<T>),
        dz(this->slots() * 3 * packed.hidden * strip<T>),
        gates(3 * packed.hidden * strip<T>),
        work(packed.hidden * strip<T>),
        dx(packed.columns * strip<T>),
        dz_rows(3 * packed.hidden * strip<T> * strips_per_tile),
        reset_rows(packed.hidden * strip<T> * strips_per_tile) {}
};

/// The turned values of the s-th strip of the tile that the weight gradients are summed from.
template <class T>
struct StripValues {
  T *x, *h, *reset, *dz;
  const T* h_before;  // rows

  StripValues(Walk<T>& walk, std::int64_t s) {
    const std::int64_t slot = walk.turned ? s * strip<T> : 0, hidden = walk.panels.hidden;
    x = walk.x.data() + slot * walk.panels.columns;
    h = walk.h.data() + slot * hidden;
    reset = walk.reset.data() + slot * hidden;
    dz = walk.dz.data() + slot * 3 * hidden;
    h_before = walk.before[0].first + s * strip<T> * hidden;
  }
};

/// Turns h_{t-1}, the gates and r h of the strip.
template <class T>
void load_gates(Walk<T>& walk, const StripValues<T>& own, std::int64_t t, std::int64_t v, std::int64_t rows) {
  const GruSequenceBackward& op = walk.op;
  const GruPanels<T>& p = walk.panels;
  const std::int64_t row = t * p.n + v;
  load_turned(own.h_before, p.hidden, p.hidden, rows, own.h);
  prefetch_strip(walk.next, walk.panels.n, op.y, 1);
  if (!op.gates.defined()) {
    load_turned(op.x.data<T>() + row * p.columns, p.columns, p.columns, rows, own.x);
    activate_gates(p, static_cast<const T*>(own.x), static_cast<const T*>(own.h), walk.gates.data(), own.reset);
    return;
  }
  const std::int64_t width = 3 * p.hidden;
  prefetch_strip(walk.next, walk.panels.n, op.gates);
  load_turned(op.gates.data<T>() + row * width, width, width, rows, walk.gates.data());
  combine(p.hidden, static_cast<const T*>(walk.gates.data()), static_cast<const T*>(own.h), own.reset,
          [](auto r, auto state) { return r * state; });
}

/// From the gradient of h_t (dh + dy) to dz of the three gates, and in dh the gradient of h_{t-1}.
template <class T>
void gate_gradients(Walk<T>& walk, const StripValues<T>& own, T* dh, const T* dy) {
  constexpr int P = most_lanes<T>;
  const std::int64_t size = walk.panels.hidden * strip<T>;
  const T *gates = walk.gates.data(), *h = own.h;
  T *dz = own.dz, *to_reset = walk.work.data();
  for (std::int64_t i = 0; i < size; i += P) {
    const Register<T> z = load<T, P>(gates + size + i), fresh = load<T, P>(gates + 2 * size + i);
    const Register<T> d = load<T, P>(dh + i) + load<T, P>(dy + i);
    store_first<T, P>(dz + size + i, d * (load<T, P>(h + i) - fresh) * z * (T{1} - z), P);
    store_first<T, P>(dz + 2 * size + i, d * (T{1} - z) * (T{1} - fresh * fresh), P);
    store_first<T, P>(dh + i, d * z, P);
  }
  multiply_panel(walk.back.candidate_to_state, static_cast<const T*>(dz + 2 * size), to_reset, false);
  for (std::int64_t i = 0; i < size; i += P) {
    const Register<T> r = load<T, P>(gates + i), d = load<T, P>(to_reset + i);
    store_first<T, P>(dz + i, d * load<T, P>(h + i) * r * (T{1} - r), P);
    store_first<T, P>(dh + i, load<T, P>(dh + i) + d * r, P);
  }
  multiply_panel(walk.back.gates_to_state, static_cast<const T*>(dz), dh, true);
}

/// Leaves the strip's dz and r h as rows for the tile's part of the weight gradients.
template <class T>
void leave_rows(Walk<T>& walk, std::int64_t rows, std::int64_t s) {
  const std::int64_t h = walk.panels.hidden;
  store_turned(static_cast<const T*>(walk.dz.data()), walk.dz_rows.data() + s * strip<T> * 3 * h, 3 * h, 3 * h, rows);
  store_turned(static_cast<const T*>(walk.reset.data()), walk.reset_rows.data() + s * strip<T> * h, h, h, rows);
}

/// One step of the strip of vertices [v, v + rows), the `s`-th of its tile.
template <class T>
[[gnu::noinline]] void step_strip(Walk<T>& walk, T* dh, std::int64_t t, std::int64_t v, std::int64_t rows,
                                  std::int64_t s) {
  const GruSequenceBackward& op = walk.op;
  const GruPanels<T>& p = walk.panels;
  const std::int64_t row = t * p.n + v;
  const StripValues<T> own(walk, s);
  load_gates(walk, own, t, v, rows);
  prefetch_strip(walk.next, walk.panels.n, op.x);
  load_turned(op.dy.data<T>() + row * p.hidden, p.hidden, p.hidden, rows, walk.work.data());
  gate_gradients(walk, own, dh, static_cast<const T*>(walk.work.data()));
  prefetch_strip(walk.next, walk.panels.n, op.dy);
  const T* dz = own.dz;
  walk.sums.add_lanes(dz);
  if (!walk.turned) leave_rows(walk, rows, s);
  if (!op.dx.defined()) return;
  prefetch_strip<true>(walk.next, walk.panels.n, op.dx);
  for (std::size_t g = 0; g < walk.back.to_x.size(); ++g) {
    const std::int64_t gate = g;
    multiply_panel(walk.back.to_x[g], dz + gate * p.hidden * strip<T>, walk.dx.data() + gate * p.inputs * strip<T>,
                   false);
  }
  store_turned(static_cast<const T*>(walk.dx.data()), op.dx.data<T>() + row * p.columns, p.columns, p.columns, rows,
               op.accumulate_dx);
}

/// Adds the tile's part of the weight gradients from the turned values of its strips.
template <class T>
void add_turned_sums(Walk<T>& walk, std::int64_t strips) {
  const GruPanels<T>& p = walk.panels;
  const std::int64_t h = p.hidden, state_apart = h * strip<T>;
  for (std::int64_t g = 0; g < 3; ++g) {
    const TurnedStrips<T> dz{walk.dz.data() + g * state_apart, 3 * state_apart};
    const TurnedStrips<T> x{walk.x.data() + g * p.own * strip<T>, p.columns * strip<T>};
    walk.sums.add_turned(g * p.inputs * h, h, x, p.inputs, dz, h, strips);
    const TurnedStrips<T> state{g == gru_candidate ? walk.reset.data() : walk.h.data(), state_apart};
    walk.sums.add_turned((3 * p.inputs + g * h) * h, h, state, h, dz, h, strips);
  }
}

/// Adds the tile's part of the weight gradients of step t.
template <class T>
void add_step_sums(Walk<T>& walk, std::int64_t t, std::int64_t begin, std::int64_t rows) {
  const GruPanels<T>& p = walk.panels;
  const std::int64_t h = p.hidden, width = 3 * h, behind_x = 3 * p.inputs * h;
  const T* x = walk.op.x.template data<T>() + (t * p.n + begin) * p.columns;
  const T* dz = walk.dz_rows.data();
  for (std::int64_t g = 0; g < 3; ++g) {
    walk.sums.add(g * p.inputs * h, h, x + g * p.own, p.columns, p.inputs, dz + g * h, width, h, rows);
    const T* state = g == gru_candidate ? walk.reset_rows.data() : walk.before[0].first;
    walk.sums.add(behind_x + g * h * h, h, state, h, h, dz + g * h, width, h, rows);
  }
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const auto step = [&](const NextStrip& at, const NextStrip& next, std::int64_t first) {
    walk.next = next;
    step_strip(walk, walk.gradients[0].data() + first * walk.hidden, at.step, at.vertex, at.rows, first / strip<T>);
  };
  walk_back(walk, begin, end, step, [&](std::int64_t t) {
    walk.turned ? add_turned_sums(walk, divide_up(end - begin, strip<T>)) : add_step_sums(walk, t, begin, end - begin);
  });
}

template <class T>
void run_typed(const GruSequenceBackward& op, const KernelContext& context) {
  const GruPanels<T> panels(op);
  const BackPanels<T> back(op, panels);
  sum_weight_gradients<T>(
      op, context, [&](double* sums) { return Walk<T>(op, panels, back, sums); }, walk_tile<T>);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<GruSequenceBackward> vector{"cpu", {"vector", 10, nullptr, run}};

}  // namespace
}  // namespace strobe
