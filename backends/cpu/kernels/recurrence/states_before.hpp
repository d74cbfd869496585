// Where the state before a row of a recurrence comes from (operations_recurrent.hpp), of timelines and of packed
// sequences alike.
#pragma once

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cpu {

/// Whether the cells of an operation hand on a cell state next to h, as those of an LSTM do.
template <class Op>
concept HasCells = requires(const Op& op) {
  op.cells;
};
template <class Op>
inline constexpr std::size_t states_of = HasCells<Op> ? 2 : 1;

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

/// A bit for each of `count` <= 32 entries of a list that is not -1: a sequence that begins, or a cell state that is
/// handed on. Reads whole registers, as tensors may be read.
inline std::uint32_t listed_bits(const std::int32_t* entries, int count) {
  std::uint32_t bits = 0;
#if defined(__AVX2__)
  for (int r = 0; r < count; r += 8) {
    __m256i eight;
    std::memcpy(&eight, entries + r, sizeof(eight));
    const __m256i above = _mm256_cmpeq_epi32(eight, _mm256_set1_epi32(-1));
    bits |= (static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(above))) ^ 0xffu) << r;
  }
#else
  for (int r = 0; r < count; ++r) bits |= static_cast<std::uint32_t>(entries[r] != -1) << r;
#endif
  return bits & (count < 32 ? (1u << count) - 1u : ~0u);
}

/// Calls body(r) for every entry that is not -1, in order; no branch depends on which they are.
template <class Body>
[[gnu::always_inline]] inline void for_listed(const std::int32_t* entries, std::int64_t rows, const Body& body) {
  constexpr std::int64_t at_once = 32;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    std::uint32_t listed = listed_bits(entries + first, static_cast<int>(std::min(at_once, rows - first)));
    for (; listed != 0; listed &= listed - 1) body(first + std::countr_zero(listed));
  }
}

inline bool any_listed(const std::int32_t* entries, std::int64_t rows) {
  constexpr std::int64_t at_once = 32;
  std::uint32_t listed = 0;
  for (std::int64_t first = 0; first < rows; first += at_once)
    listed |= listed_bits(entries + first, static_cast<int>(std::min(at_once, rows - first)));
  return listed != 0;
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
  const std::int64_t hidden = states.columns(), n = op.vertices();
  if (t == 0) {
    std::fill_n(to, rows * hidden, T{0});
  } else {
    std::copy_n(states.data<T>() + ((t - 1) * n + v) * hidden, rows * hidden, to);
  }
  const std::int32_t* entries = list_rows(op.restarts, t * n + v);
  const T* start = op.start.template data<T>();
  for_listed(entries, rows, [=](std::int64_t r) {
    const T* from = entries[r] >= 0 ? start + (first + entries[r]) * hidden : nullptr;
    T* const own = to + r * hidden;
    if (hidden % most_lanes<T> == 0) {
      for (std::int64_t u = 0; u < hidden; ++u) own[u] = from == nullptr ? T{0} : from[u];
      return;
    }
    for (std::int64_t u = 0; u < hidden; ++u) {
      T value = from == nullptr ? T{0} : from[u];
      hold_value(value);  // no vector loop: few units
      own[u] = value;
    }
  });
}

}  // namespace strobe::cpu
