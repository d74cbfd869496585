// The one dense building block of the fast kernels: C [m, n] = A [m, k] B [k, n] for row-major B, C and any strides of
// A, in tiles of R rows by K registers of P columns. Every element of C adds its k terms in order, whatever the tile,
// so results do not depend on how rows are divided. Unused lanes of B are loaded as zero: memory past a narrow
// matrix may hold denormals, and each operation on a denormal lane costs some 150 cycles though nobody reads it.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

/// A and B by raw arrays: A(i, j) = a[i * a_row + j * a_inner], B(j, c) = b[j * b_row + c].
template <class T>
struct Factors {
  const T* a;
  std::int64_t a_row, a_inner;
  const T* b;
  std::int64_t b_row;
  std::int64_t inner;  // k
};

/// Where C goes: element (i, c) to to[i * stride + c], plus bias[c] where there is a bias, through relu where asked
/// for, or added to it. An unused option costs one branch per tile.
template <class T>
struct ProductStore {
  T* to;
  std::int64_t stride;
  const T* bias = nullptr;
  bool with_relu = false, accumulate = false;
};

/// The same of sums in double, to which C is added.
struct ProductSums {
  double* to;
  std::int64_t stride;
};

/// C [rows, width] to `target`. Compiled once for all kernels (tile.cpp), because its tiles, some forty for each
/// element type and target, take a compiler seconds.
template <class T>
void multiply(const Factors<T>& f, std::int64_t rows, std::int64_t width, const ProductStore<T>& target);
template <class T>
void multiply(const Factors<T>& f, std::int64_t rows, std::int64_t width, const ProductSums& target);

/// to[0, lanes) += v, in double.
template <class T, int P>
[[gnu::always_inline]] inline void add_in_double(double* to, Lanes<T, P> v, int lanes) {
  if constexpr (P == 1) {
    *to += static_cast<double>(v);
  } else if constexpr (P > most_lanes<double>) {
    constexpr int half = P / 2;
    const auto part = [&]<std::size_t... L>(std::index_sequence<L...>, double* at, int first, int count) {
      const auto values = first == 0 ? __builtin_shufflevector(v, v, static_cast<int>(L)...)
                                     : __builtin_shufflevector(v, v, (half + static_cast<int>(L))...);
      add_in_double<T, half>(at, values, count);
    };
    part(std::make_index_sequence<half>{}, to, 0, std::min(lanes, half));
    if (lanes > half) part(std::make_index_sequence<half>{}, to + half, half, lanes - half);
  } else {
    const auto wide = __builtin_convertvector(v, Lanes<double, P>);
    store_first<double, P>(to, load_first<double, P>(to, lanes) + wide, lanes);
  }
}

/// sums[j] += the sum of column j of b [rows, width], whose rows lie `stride` apart: in the element type over these
/// rows, with four parallel sums, and in double over calls.
template <class T>
void add_column_sums(const T* b, std::int64_t stride, std::int64_t width, std::int64_t rows, double* sums) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t column = 0; column < width; column += P) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - column));
    const T* from = b + column;
    Lanes<T, P> part[4] = {};
    for (std::int64_t i = 0; i < rows / 4; ++i) {
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r, from += stride) part[r] += load_row<T, P>(from, lanes);
    }
    for (std::int64_t i = 0; i < rows % 4; ++i, from += stride) part[0] += load_row<T, P>(from, lanes);
    add_in_double<T, P>(sums + column, (part[0] + part[1]) + (part[2] + part[3]), lanes);
  }
}

/// max(v, 0), keeping NaN.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> relu(Lanes<T, P> v) {
  const Lanes<T, P> zero{};
#ifdef STROBE_MASKED_LANES
  // One instruction, which gives its second operand where one is NaN; from the comparison GCC makes two.
  if constexpr (std::is_same_v<Lanes<T, P>, Lanes<float, 16>>) {
    return reinterpret_cast<Lanes<T, P>>(_mm512_maskz_max_ps(0xFFFF, _mm512_setzero_ps(), reinterpret_cast<__m512>(v)));
  }
#elif defined(STROBE_BLENDED_LANES)
  if constexpr (std::is_same_v<Lanes<T, P>, Lanes<float, 8>>) {
    return reinterpret_cast<Lanes<T, P>>(_mm256_max_ps(_mm256_setzero_ps(), reinterpret_cast<__m256>(v)));
  }
#endif
  return v < zero ? zero : v;
}

}  // namespace strobe::cpu
