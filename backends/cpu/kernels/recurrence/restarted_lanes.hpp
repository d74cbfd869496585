// Packed sequences in strips (vertex_strip.hpp): what changes in the lanes of turned states [h][strip] whose sequence
// begins or ends at a step. `entries` are the strip's of the operation's restarts or ends. Loops over units are short:
// hold_value keeps them from being made vector loops, whose beginnings and ends take longer than all of them.
#pragma once

#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/recurrence/states_before.hpp"

namespace strobe::cpu {

/// Sets the state of the lanes that begin, from the rows [., h] of `start` or to zero.
template <class T>
void restart_lanes(const std::int32_t* entries, std::int64_t rows, const T* start, std::int64_t hidden, T* state) {
  for_listed(entries, rows, [=](std::int64_t lane) {
    const T* from = entries[lane] >= 0 ? start + entries[lane] * hidden : nullptr;
    T* to = state + lane;
    for (std::int64_t u = 0; u < hidden; ++u, to += strip<T>) {
      T value = from == nullptr ? T{0} : from[u];
      hold_value(value);
      *to = value;
    }
  });
}

/// Leaves the gradient of the state before the lanes that begin to the rows of `dstart`, which may be null, and goes on
/// with zero.
template <class T>
void leave_lanes(const std::int32_t* entries, std::int64_t rows, T* dstart, std::int64_t hidden, T* gradient) {
  for_listed(entries, rows, [=](std::int64_t lane) {
    T* to = entries[lane] >= 0 && dstart != nullptr ? dstart + entries[lane] * hidden : nullptr;
    T* from = gradient + lane;
    for (std::int64_t u = 0; u < hidden; ++u, from += strip<T>) {
      T value = *from;
      hold_value(value);
      if (to != nullptr) to[u] = value;
      *from = T{0};
    }
  });
}

/// Adds the rows of `dlast` to the gradient of the state after the lanes that end.
template <class T>
void add_last_lanes(const std::int32_t* entries, std::int64_t rows, const T* dlast, std::int64_t hidden, T* gradient) {
  for_listed(entries, rows, [=](std::int64_t lane) {
    for (std::int64_t u = 0; u < hidden; ++u) gradient[u * strip<T> + lane] += dlast[entries[lane] * hidden + u];
  });
}

/// Prefetches the data of packed sequences that the strip or block `at` of a walk reads in the steps ahead; `apart` =
/// 1, or -1 when the walk goes back. It fetches the entries two steps on, and the rows that the entries one step on
/// name, which have arrived by now. Rows of a state are seldom in a cache, and a tile may read those of all its strips
/// at once.
template <class Op>
[[gnu::always_inline]] inline void prefetch_sequences(const Op& op, const NextStrip& at, std::int64_t apart) {
  constexpr bool backward = requires { op.dstart; };
  const std::int64_t n = op.vertices(), one = at.step + apart, two = one + apart;
  const auto there = [&](std::int64_t step) { return step >= 0 && step < op.steps; };
  if (there(two)) prefetch_rows(op.restarts, two * n + at.vertex, at.rows);
  if (!there(one)) return;
  const std::int32_t* entries = list_rows(op.restarts, one * n + at.vertex);
  // In an LSTM, cell states follow all hidden states.
  const std::int64_t states = requires { op.cells; }
  ? op.start.rows() / 2 : 0;
  for_listed(
      entries, at.rows, [&](std::int64_t r) __attribute__((always_inline)) {
        if (entries[r] < 0) return;
        prefetch_rows(op.start, entries[r], 1);
        if (states > 0) prefetch_rows(op.start, states + entries[r], 1);
        if constexpr (backward) {
          if (!op.dstart.defined()) return;
          prefetch_rows<true>(op.dstart, entries[r], 1);
          if (states > 0) prefetch_rows<true>(op.dstart, states + entries[r], 1);
        }
      });
  if constexpr (requires { op.ends; }) {
    if (!op.ends.defined()) return;
    if (there(two)) prefetch_rows(op.ends, two * n + at.vertex, at.rows);
    const std::int32_t* ends = list_rows(op.ends, one * n + at.vertex);
    for_listed(
        ends, at.rows, [&](std::int64_t r) __attribute__((always_inline)) { prefetch_rows(op.dlast, ends[r], 1); });
  }
}

}  // namespace strobe::cpu
