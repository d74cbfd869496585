// Where the state before a row of a recurrence comes from (operations_recurrent.hpp), of timelines and of packed
// sequences alike.
#pragma once

#include <algorithm>

#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t goes_on = -1, from_nothing = -2;

/// Row of `start`, or goes_on (the row above), or from_nothing, of the state before vertex or lane v at step t.
template <class Op>
std::int64_t origin_of(const Op& op, std::int64_t t, std::int64_t v) {
  if (!op.restarts.defined()) return t > 0 ? goes_on : op.start.defined() ? v : from_nothing;
  const std::int64_t origin = op.restarts.template data<std::int32_t>()[t * op.vertices() + v];
  return t == 0 && origin == goes_on ? from_nothing : origin;
}

/// The state [h] before vertex or lane v at step t: of `states` [T n, h], of the rows of `start` from `first` on, or
/// `zeros`.
template <class T, class Op>
const T* state_before(const Op& op, const Tensor& states, std::int64_t first, std::int64_t t, std::int64_t v,
                      const T* zeros) {
  const std::int64_t origin = origin_of(op, t, v), hidden = states.columns();
  if (origin == from_nothing) return zeros;
  if (origin == goes_on) return states.data<T>() + ((t - 1) * op.vertices() + v) * hidden;
  return op.start.template data<T>() + (first + origin) * hidden;
}

/// A list i32 [T n, 1] from `row` on.
inline const std::int32_t* list_rows(const Tensor& list, std::int64_t row) { return list.data<std::int32_t>() + row; }

/// Whether any of `rows` entries is not -1: a sequence that begins, or a cell state that is handed on.
inline bool any_listed(const std::int32_t* entries, std::int64_t rows) {
  std::int32_t bits = 0;
  for (std::int64_t r = 0; r < rows; ++r) bits |= entries[r] + 1;
  return bits != 0;
}

/// Whether a sequence begins at step t of vertices or lanes [v, v + rows), in other words than those of timelines.
template <class Op>
bool any_restarts(const Op& op, std::int64_t t, std::int64_t v, std::int64_t rows) {
  return op.restarts.defined() && (t == 0 || any_listed(list_rows(op.restarts, t * op.vertices() + v), rows));
}

/// The states before lanes [v, v + rows) at step t as rows [rows, h] of `to`, as state_before has them.
template <class T, class Op>
void gather_states(const Op& op, const Tensor& states, std::int64_t first, std::int64_t t, std::int64_t v,
                   std::int64_t rows, T* to) {
  const std::int64_t hidden = states.columns();
  for (std::int64_t r = 0; r < rows; ++r, to += hidden) {
    const T* from = state_before<T>(op, states, first, t, v + r, nullptr);
    if (from == nullptr) {
      std::fill_n(to, hidden, T{0});
    } else {
      std::copy_n(from, hidden, to);
    }
  }
}

}  // namespace strobe::cpu
