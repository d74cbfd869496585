// What the recurrences by rows share, whose states are whole registers: rows [rows, h] of states and gates are what
// every pass reads and writes as they lie in memory, a block of vertices at a time.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/dense/row_products.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t recurrent_block_rows = 24;  // two tiles of rows; 24 KiB of an LSTM's gates at 64 units
inline constexpr std::int64_t recurrent_tile_rows = 4 * recurrent_block_rows;

/// Whether a recurrence by rows serves `op`: its states are whole panels, its inputs are read as they are.
template <class Op>
bool serves_rows(const Op& op) {
  if constexpr (requires { op.w_in; }) {
    if (op.w_in.defined()) return false;
  }
  if (op.restarts.defined()) return false;
  const std::int64_t lanes = op.y.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return op.y.columns() % (2 * lanes) == 0;
}

/// Rows of a state, `stride` values apart; a stride of 0 repeats one row.
template <class T>
struct StateRows {
  const T* first;
  std::int64_t stride;
  const T* row(std::int64_t r) const { return first + r * stride; }
};

/// Rows of `state` [T n, h] of the step before t, from vertex v on; of the `start` rows, or of `zeros` [h], for t = 0.
template <class T>
StateRows<T> rows_before(const Tensor& state, std::int64_t n, std::int64_t t, std::int64_t v, const T* start,
                         const T* zeros) {
  const std::int64_t hidden = state.columns();
  if (t > 0) return {state.data<T>() + ((t - 1) * n + v) * hidden, hidden};
  if (start != nullptr) return {start + v * hidden, hidden};
  return {zeros, 0};
}

/// `count` values, whole registers, to `to`, past the caches where they are whole lines; end_streams() comes behind the
/// last of them.
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
