// Loops of vector attention over the past: vertices are the lanes of a register, and steps follow each other.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu::past_lanes {

template <class T>
using Register = Lanes<T, most_lanes<T>>;

/// Registers in scratch memory.
template <class T>
using Registers = std::vector<Register<T>>;

/// to[c][lane] = from[lane][c] for `lanes` rows that lie `stride` apart; other lanes are zero.
template <class T>
void turn_in(const T* from, std::int64_t stride, int lanes, std::int64_t columns, Register<T>* to) {
  T* out = reinterpret_cast<T*>(to);
  constexpr int P = most_lanes<T>;
  if (lanes < P) std::fill(out, out + columns * P, T{0});
  for (int lane = 0; lane < lanes; ++lane) {
    const T* row = from + lane * stride;
    for (std::int64_t c = 0; c < columns; ++c) out[c * P + lane] = row[c];
  }
}

/// The other way round.
template <class T>
void turn_out(const Register<T>* from, std::int64_t stride, int lanes, std::int64_t columns, T* to) {
  const T* in = reinterpret_cast<const T*>(from);
  constexpr int P = most_lanes<T>;
  for (int lane = 0; lane < lanes; ++lane) {
    T* row = to + lane * stride;
    for (std::int64_t c = 0; c < columns; ++c) row[c] = in[c * P + lane];
  }
}

// The loops over steps, for C columns that stay in registers. Row s of a matrix lies at m + s * stride.

/// sums[s] += x . m_s for s of [0, count).
template <class T, int C>
void add_products(const Register<T>* x, const Register<T>* m, std::int64_t stride, std::int64_t count,
                  Register<T>* sums) {
  Register<T> own[C];
  for (int c = 0; c < C; ++c) own[c] = x[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    Register<T> sum = sums[s];
    for (int c = 0; c < C; ++c) sum += own[c] * m[c];
    sums[s] = sum;
  }
}

/// y += sum over s of weights[s] m_s.
template <class T, int C>
void add_weighted(const Register<T>* weights, const Register<T>* m, std::int64_t stride, std::int64_t count,
                  Register<T>* y) {
  Register<T> sum[C];
  for (int c = 0; c < C; ++c) sum[c] = y[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    for (int c = 0; c < C; ++c) sum[c] += weights[s] * m[c];
  }
  for (int c = 0; c < C; ++c) y[c] = sum[c];
}

/// m_s += weights[s] x.
template <class T, int C>
void spread_weights(const Register<T>* weights, const Register<T>* x, std::int64_t stride, std::int64_t count,
                    Register<T>* m) {
  Register<T> own[C];
  for (int c = 0; c < C; ++c) own[c] = x[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    const Register<T> weight = weights[s];
    for (int c = 0; c < C; ++c) m[c] += weight * own[c];
  }
}

/// Calls body(first column, number of columns as a constant) for chunks of at most 8 that cover [0, depth).
template <class Body>
void for_chunks(std::int64_t depth, const Body& body) {
  std::int64_t c = 0;
  for (; c + 8 <= depth; c += 8) body(c, std::integral_constant<int, 8>{});
  switch (depth - c) {
    case 1:
      return body(c, std::integral_constant<int, 1>{});
    case 2:
      return body(c, std::integral_constant<int, 2>{});
    case 3:
      return body(c, std::integral_constant<int, 3>{});
    case 4:
      return body(c, std::integral_constant<int, 4>{});
    case 5:
      return body(c, std::integral_constant<int, 5>{});
    case 6:
      return body(c, std::integral_constant<int, 6>{});
    case 7:
      return body(c, std::integral_constant<int, 7>{});
    default:
      return;
  }
}

}  // namespace strobe::cpu::past_lanes
