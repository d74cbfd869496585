// Where the state before a row of a recurrence comes from (operations_recurrent.hpp), of timelines and of packed
// sequences alike.
#pragma once

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

}  // namespace strobe::cpu
