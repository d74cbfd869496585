// Where the state before a row of a recurrence comes from (operations_recurrent.hpp), of timelines and of packed
// sequences alike.
#pragma once

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cuda {

inline constexpr std::int64_t goes_on = -1, from_nothing = -2;

struct SequenceOrigins {
  const std::int32_t* restarts;  // null: vertices have one timeline each
  std::int64_t n, starts;        // vertices or lanes; rows of start, of an LSTM those of hidden states

  /// Row of `start`, or goes_on (the row above), or from_nothing, for vertex or lane v at step t.
  __device__ std::int64_t of(std::int64_t t, std::int64_t v) const {
    if (restarts == nullptr) return t > 0 ? goes_on : starts > 0 ? v : from_nothing;
    const std::int64_t origin = restarts[t * n + v];
    return t == 0 && origin == goes_on ? from_nothing : origin;
  }
  /// The state [h] before, of `states` [T n, h] or of `start` [starts, h]; null for zero.
  template <class T>
  __device__ const T* state(const T* states, const T* start, std::int64_t hidden, std::int64_t t,
                            std::int64_t v) const {
    const std::int64_t origin = of(t, v);
    if (origin == from_nothing) return nullptr;
    return origin == goes_on ? states + ((t - 1) * n + v) * hidden : start + origin * hidden;
  }
  /// The part of `gradient`, for unit u of the state before, that goes on: all, or nothing, and `dstart` [starts, h]
  /// gets it.
  template <class T>
  __device__ T leave(T gradient, T* dstart, std::int64_t hidden, std::int64_t t, std::int64_t v, std::int64_t u) const {
    const std::int64_t origin = of(t, v);
    if (origin >= 0 && dstart != nullptr) dstart[origin * hidden + u] = gradient;
    return origin == goes_on ? gradient : T{0};
  }
};

/// `states` blocks of start: 2 of an LSTM.
template <class Op>
SequenceOrigins origins_of(const Op& op, std::int64_t states) {
  return {op.restarts.template data<std::int32_t>(), op.vertices(), op.start.rows() / states};
}

}  // namespace strobe::cuda
