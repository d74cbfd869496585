// Shared by the recurrences by rows, whose states are whole registers: every pass reads and writes rows [rows, h] of
// states and gates as they lie in memory, a block of vertices at a time.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/dense/row_products.hpp"
#include "backends/cpu/kernels/recurrence/restarted_lanes.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t recurrent_block_rows = 24;  // two tiles of rows; 24 KiB of an LSTM's gates at 64 units
inline constexpr std::int64_t recurrent_tile_rows = 4 * recurrent_block_rows;

/// Whether a recurrence by rows serves `op`: its states are whole panels, its inputs are read as they are.
template <class Op>
bool serves_rows(const Op& op) {
  if constexpr (requires { op.w_in; }) {
    if (op.w_in.defined()) return false;
  }
  const std::int64_t lanes = op.y.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return op.y.columns() % (2 * lanes) == 0;
}

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
  /// For up to `most_rows` rows of `states` [T n, h].
  template <class Op>
  StatesBefore(const Op& op, const Tensor& states, std::int64_t first, std::int64_t most_rows)
      : states_(states),
        start_(op.start.defined() ? op.start.template data<T>() + first * states.columns() : nullptr),
        first_(first),
        gathered_((op.restarts.defined() ? most_rows : 1) * states.columns()) {}

  /// The rows of vertices or lanes [v, v + rows) at step t; valid until the next call.
  template <class Op>
  StateRows<T> rows(const Op& op, std::int64_t t, std::int64_t v, std::int64_t rows) {
    const std::int64_t hidden = states_.columns();
    if (any_restarts(op, t, v, rows)) {
      gather_states(op, states_, first_, t, v, rows, gathered_.data());
      return {gathered_.data(), hidden};
    }
    if (t > 0) return {states_.data<T>() + ((t - 1) * op.vertices() + v) * hidden, hidden};
    if (start_ != nullptr) return {start_ + v * hidden, hidden};
    return {gathered_.data(), 0};  // zeros
  }

 private:
  Tensor states_;
  const T* start_;
  std::int64_t first_;
  Scratch<T> gathered_;
};

/// Leaves the gradient rows [rows, h] of the states before lanes [v, v + rows) whose sequence begins at step t to the
/// rows of `dstart`, which may be null, and goes on with zero.
template <class T, class Op>
void leave_rows(const Op& op, std::int64_t t, std::int64_t v, std::int64_t rows, T* dstart, T* gradient) {
  if (!any_restarts(op, t, v, rows)) return;
  const std::int64_t hidden = op.y.columns();
  const std::int32_t* entries = list_rows(op.restarts, t * op.vertices() + v);
  for_listed(entries, rows, [=](std::int64_t r) {
    T* const own = gradient + r * hidden;
    if (entries[r] >= 0 && dstart != nullptr) std::copy_n(own, hidden, dstart + entries[r] * hidden);
    std::fill_n(own, hidden, T{0});
  });
}

/// Stores `count` values, whole registers, at `to`, past the caches when they are whole lines; end_streams() follows
/// the last of them.
template <class T>
void keep_values(const T* from, T* to, std::int64_t count) {
  constexpr int P = most_lanes<T>;
  if (!in_whole_lines(to, count, count)) {
    std::copy_n(from, count, to);
    return;
  }
  for (std::int64_t i = 0; i < count; i += P) stream_line(to + i, load<T, P>(from + i));
}

}  // namespace strobe::cpu
