// The vector recurrences share where the states before come from, and the walks of a tile of vertices through
// time and back, in strips of turned values (vertex_strip.hpp) or in blocks of rows (recurrent_rows.hpp). A cell adds
// what it computes in one step. Its states are h and, in an LSTM, c.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>

#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cpu/kernels/recurrence/restarted_lanes.hpp"

namespace strobe::cpu {

/// Rows of a state, `stride` values apart; a stride of 0 repeats one row.
template <class T>
struct StateRows {
  const T* first;
  std::int64_t stride;
  const T* row(std::int64_t r) const { return first + r * stride; }
  StateRows from(std::int64_t r) const { return {row(r), stride}; }
};

/// Where rows of the states before come from: y and the first rows of start, or cells and the rows of start from
/// `first` on.
template <class T>
class StatesBefore {
 public:
  /// For up to `most_rows` rows of `states` [T n, h]; `zero_rows` rows of zeros lie at a first row that is zero.
  template <class Op>
  StatesBefore(const Op& op, const Tensor& states, std::int64_t first, std::int64_t most_rows, std::int64_t zero_rows)
      : states_(states),
        start_(op.start.defined() ? op.start.template data<T>() + first * states.columns() : nullptr),
        first_(first),
        vertices_(op.vertices()),
        gathered_((op.restarts.defined() ? most_rows : zero_rows) * states.columns()) {}

  /// The rows of vertices or lanes [v, v + rows) at step t; valid until the next call.
  template <class Op>
  StateRows<T> rows(const Op& op, std::int64_t t, std::int64_t v, std::int64_t rows) {
    const std::int64_t hidden = states_.columns();
    if (any_restarts(op, t, v, rows)) {
      gather_states(op, states_, first_, t, v, rows, gathered_.data());
      return {gathered_.data(), hidden};
    }
    if (t > 0) return {states_.data<T>() + ((t - 1) * vertices_ + v) * hidden, hidden};
    if (start_ != nullptr) return {start_ + v * hidden, hidden};
    return {gathered_.data(), 0};  // zeros
  }

 private:
  Tensor states_;
  const T* start_;
  std::int64_t first_, vertices_;
  Scratch<T> gathered_;
};

/// The same of all states of a cell.
template <class T, class Op>
std::array<StatesBefore<T>, states_of<Op>> states_before(const Op& op, std::int64_t most_rows, std::int64_t zero_rows) {
  if constexpr (HasCells<Op>) {
    return {StatesBefore<T>(op, op.y, 0, most_rows, zero_rows),
            StatesBefore<T>(op, op.cells, op.start.rows() / 2, most_rows, zero_rows)};
  } else {
    return {StatesBefore<T>(op, op.y, 0, most_rows, zero_rows)};
  }
}

/// Calls body(at, next) for the strips, or blocks, of `part` vertices of a tile [begin, end) at step t. `next` is what
/// the walk visits afterwards; the step after this one is `apart` on.
template <class Op, class Body>
[[gnu::always_inline]] inline void over_parts(const Op& op, std::int64_t t, std::int64_t apart, std::int64_t part,
                                              std::int64_t begin, std::int64_t end, const Body& body) {
  for (std::int64_t v = begin; v < end; v += part) {
    NextStrip next = rows_after(v, part, t, t + apart, begin, end);
    if (next.step == op.steps) next = {};
    body(NextStrip{t, v, std::min(part, end - v)}, next);
  }
}

/// Sets the turned states of the strip `at`, `first` rows into its tile, where sequences begin, and asks for what
/// follows. A function of its own: what timelines seldom need is none of their loop's registers.
template <class T, class Op>
[[gnu::noinline]] void begin_strip(const Op& op, const NextStrip& at, std::int64_t first,
                                   std::array<Scratch<T>, states_of<Op>>& states) {
  const std::int64_t hidden = op.y.columns();
  const T* start = op.start.template data<T>();
  if (op.restarts.defined()) prefetch_sequences(op, at, 1);
  for (Scratch<T>& state : states) {
    T* const to = state.data() + first * hidden;
    if (op.restarts.defined()) {
      restart_lanes(list_rows(op.restarts, at.step * op.vertices() + at.vertex), at.rows, start, hidden, to);
    } else if (start != nullptr) {
      load_turned(start + at.vertex * hidden, hidden, hidden, at.rows, to);
    }
    if (start != nullptr) start += op.start.elements() / static_cast<std::int64_t>(states.size());
  }
}

/// Takes a tile of vertices [begin, end) through time in strips; step(row, rows, states..., next) takes a strip, whose
/// first row is `row`, one step on.
template <class T, class Op, class Step>
void walk_strips(const Op& op, std::int64_t begin, std::int64_t end, const Step& step) {
  const std::int64_t hidden = op.y.columns(), n = op.vertices();
  std::array<Scratch<T>, states_of<Op>> states;
  states.fill(Scratch<T>(hidden * strip<T> * strips_per_tile));
  for (std::int64_t t = 0; t < op.steps; ++t) {
    over_parts(op, t, 1, strip<T>, begin, end, [&](const NextStrip& at, const NextStrip& next) {
      const std::int64_t first = at.vertex - begin;
      if (t == 0 || op.restarts.defined()) begin_strip(op, at, first, states);
      std::apply([&](auto&... state) { step(t * n + at.vertex, at.rows, state.data() + first * hidden..., next); },
                 states);
    });
  }
  end_streams();
}

/// States of strips, turned: lane r's unit u lies at u * strip + r.
template <class T>
struct TurnedStates {
  static constexpr bool turned = true;
  static constexpr std::int64_t part = strip<T>, tile = strip<T> * strips_per_tile;

  static void load(const T* from, std::int64_t hidden, std::int64_t rows, T* to) {
    load_turned(from, hidden, hidden, rows, to);
  }
  static void store(const T* from, std::int64_t hidden, std::int64_t rows, T* to) {
    store_turned(from, to, hidden, hidden, rows);
  }
  static void add_last(const std::int32_t* ends, std::int64_t rows, const T* dlast, std::int64_t hidden, T* gradient) {
    add_last_lanes(ends, rows, dlast, hidden, gradient);
  }
  static void leave(const std::int32_t* entries, std::int64_t rows, T* dstart, std::int64_t hidden, T* gradient) {
    leave_lanes(entries, rows, dstart, hidden, gradient);
  }
};

/// The walk of any cell back through time. States are TurnedStates or StatesInRows.
template <class T, class Op, class States>
struct WalkBack {
  using Layout = States;
  const Op& op;
  std::int64_t n, hidden, width;  // `width` of the gates
  bool turned;                    // whether weight gradients are summed from turned values, which few of them are
  StripSums<T> sums;
  std::array<Scratch<T>, states_of<Op>> gradients;  // of the states of the tile
  std::array<StatesBefore<T>, states_of<Op>> states;
  std::array<StateRows<T>, states_of<Op>> before{};  // of the tile

  WalkBack(const Op& operation, double* total)
      : op(operation),
        n(op.vertices()),
        hidden(op.y.columns()),
        width(op.bias.elements()),
        turned(States::turned && !op.gates.defined() && matrix_elements(op) <= most_turned_sums),
        sums(matrix_elements(op), States::turned ? width : 0, total, turned),
        states(states_before<T>(op, States::tile, States::turned ? States::tile : 1)) {
    gradients.fill(Scratch<T>(States::tile * hidden));
  }
  /// Strips whose values are kept until the weight gradients are summed.
  std::int64_t slots() const { return turned ? strips_per_tile : 1; }
};

/// Adds the gradient of the cell states of `at` that are handed on.
template <class States, class T, class Op>
[[gnu::noinline]] void add_last(const Op& op, const NextStrip& at, T* dc) {
  const std::int64_t hidden = op.y.columns();
  const T* dlast = op.dlast.template data<T>();
  if (op.ends.defined()) {
    States::add_last(list_rows(op.ends, at.step * op.vertices() + at.vertex), at.rows, dlast, hidden, dc);
  } else if (at.step + 1 == op.steps) {
    States::load(dlast + at.vertex * hidden, hidden, at.rows, dc);
  }
}

/// Leaves the gradients of the states before `at`, `first` rows into its tile, where a sequence begins, and asks for
/// what follows. Packed sequences have functions of their own: what timelines never need is none of their loop's
/// registers.
template <class T, class Op, class States>
[[gnu::noinline]] void leave_states(WalkBack<T, Op, States>& walk, const NextStrip& at, std::int64_t first) {
  const Op& op = walk.op;
  prefetch_sequences(op, at, -1);
  T* dstart = op.dstart.template data<T>();
  for (Scratch<T>& gradient : walk.gradients) {
    States::leave(list_rows(op.restarts, at.step * walk.n + at.vertex), at.rows, dstart, walk.hidden,
                  gradient.data() + first * walk.hidden);
    if (dstart != nullptr) dstart += op.dstart.elements() / static_cast<std::int64_t>(walk.gradients.size());
  }
}

/// Takes a tile of vertices [begin, end) back through time. step(at, next, first) takes a part, `first` rows into its
/// tile, one step back: its gradients are those of the states before then. add_sums(t) follows the parts of a step.
template <class T, class Op, class States, class Step, class AddSums>
void walk_back(WalkBack<T, Op, States>& walk, std::int64_t begin, std::int64_t end, const Step& step,
               const AddSums& add_sums) {
  const Op& op = walk.op;
  const std::int64_t hidden = walk.hidden;
  for (Scratch<T>& gradient : walk.gradients) std::fill_n(gradient.data(), States::tile * hidden, T{0});
  for (std::int64_t t = op.steps - 1; t >= 0; --t) {
    for (std::size_t k = 0; k < walk.states.size(); ++k)
      walk.before[k] = walk.states[k].rows(op, t, begin, end - begin);
    over_parts(op, t, -1, States::part, begin, end, [&](const NextStrip& at, const NextStrip& next) {
      const std::int64_t first = at.vertex - begin;
      if constexpr (HasCells<Op>) {
        if (op.dlast.defined()) add_last<States>(op, at, walk.gradients[1].data() + first * hidden);
      }
      step(at, next, first);
      if (op.restarts.defined()) leave_states(walk, at, first);
    });
    add_sums(t);
    if (t % steps_per_flush == 0) walk.sums.flush();
  }
  if (!op.dstart.defined() || op.restarts.defined()) return;
  for (std::size_t k = 0; k < walk.gradients.size(); ++k) {
    T* to = op.dstart.template data<T>() + static_cast<std::int64_t>(k) * walk.n * hidden;
    over_parts(op, 0, -1, States::part, begin, end, [&](const NextStrip& at, const NextStrip&) {
      States::store(walk.gradients[k].data() + (at.vertex - begin) * hidden, hidden, at.rows, to + at.vertex * hidden);
    });
  }
}

/// Adds the gradients of an operation's weights: make(sums) is the walk of a range, walk_tile(walk, begin, end) takes a
/// tile of it back.
template <class T, class Op, class Make, class WalkTile>
void sum_weight_gradients(const Op& op, const KernelContext& context, const Make& make, const WalkTile& walk_tile) {
  constexpr std::int64_t tile = std::invoke_result_t<Make, double*>::Layout::tile;
  const TileRanges ranges(op.vertices(), tile);
  sum_range_gradients<T>(op, context, ranges.grain, [&](std::int64_t begin, std::int64_t end, double* sums) {
    auto walk = make(sums);
    for (std::int64_t v = begin; v < end; v += tile) walk_tile(walk, v, std::min(end, v + tile));
  });
}

}  // namespace strobe::cpu
