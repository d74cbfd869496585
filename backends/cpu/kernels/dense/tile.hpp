// The one dense building block of the fast kernels: C [m, n] = A [m, k] B [k, n] for row-major B, C and any strides of
// A, in tiles of R rows by K registers of P columns. Every element of C adds its k terms in order, whatever the tile,
// so results do not depend on how rows are divided. Unused lanes of B are loaded as zero: what lies behind a narrow
// matrix may be denormal, and each operation on a denormal lane costs some 150 cycles though nobody reads it.
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

/// One tile: finish(i, column, lanes, sum) receives each register of the result, `lanes` of them valid.
/// Every loop over sums is unrolled, because an array indexed by a loop stays in memory and is stored at every term.
template <class T, int P, int K, int R, class Finish>
[[gnu::always_inline]] inline void multiply_tile(const Factors<T>& f, std::int64_t row, std::int64_t column, int last,
                                                 const Finish& finish) {
  Lanes<T, P> sum[R][K];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int c = 0; c < K; ++c) sum[i][c] = Lanes<T, P>{};
  }
  const T* a = f.a + row * f.a_row;
  const T* b = f.b + column;
  for (std::int64_t j = 0; j < f.inner; ++j, a += f.a_inner, b += f.b_row) {
    Lanes<T, P> right[K];
#pragma GCC unroll 8
    for (int c = 0; c < K; ++c) right[c] = load_row<T, P>(b + c * P, c + 1 < K ? P : last);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const T left = a[i * f.a_row];
#pragma GCC unroll 8
      for (int c = 0; c < K; ++c) sum[i][c] += left * right[c];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int c = 0; c < K; ++c) finish(row + i, column + c * P, c + 1 < K ? P : last, sum[i][c]);
  }
}

/// One K-register column of C in tiles of 6 rows, or 8 where their sums take half of the machine's registers at most;
/// what is left goes in tiles of 4, 2 and 1, because weight gradients have few rows and many terms, and each tile walks
/// all of them. Of one register, 5 and 3 rows are a tile too: so few sums wait for each other, however many there are.
template <class T, int P, int K, class Finish>
void multiply_columns(const Factors<T>& f, std::int64_t rows, std::int64_t column, int last, const Finish& finish) {
  std::int64_t row = 0;
  if constexpr (8 * K <= register_count / 2) {
    for (; rows - row >= 8 && rows - row != 10 && rows - row != 12; row += 8)
      multiply_tile<T, P, K, 8>(f, row, column, last, finish);
  }
  for (; row + 6 <= rows; row += 6) multiply_tile<T, P, K, 6>(f, row, column, last, finish);
  if constexpr (K == 1) {
    if (rows - row == 5) return multiply_tile<T, P, K, 5>(f, row, column, last, finish);
    if (rows - row == 3) return multiply_tile<T, P, K, 3>(f, row, column, last, finish);
  }
  for (; row + 4 <= rows; row += 4) multiply_tile<T, P, K, 4>(f, row, column, last, finish);
  for (; row + 2 <= rows; row += 2) multiply_tile<T, P, K, 2>(f, row, column, last, finish);
  for (; row < rows; ++row) multiply_tile<T, P, K, 1>(f, row, column, last, finish);
}

/// All tiles of C [rows, width]. finish(row, column, lanes, sum) stores `lanes` values of C(row, column ...).
template <class T, class Finish>
void multiply(const Factors<T>& f, std::int64_t rows, std::int64_t width, const Finish& finish) {
  constexpr int P = most_lanes<T>;
  std::int64_t column = 0;
  const auto lanes_left = [&](int registers) {
    return static_cast<int>(std::min<std::int64_t>(P, width - column - registers * P));
  };
  if constexpr (many_registers) {
    for (; column + 3 * P < width; column += 4 * P) multiply_columns<T, P, 4>(f, rows, column, lanes_left(3), finish);
  }
  for (; column + P < width; column += 2 * P) multiply_columns<T, P, 2>(f, rows, column, lanes_left(1), finish);
  for (; column < width; column += P) {
    const std::int64_t part = std::min<std::int64_t>(P, width - column);
    with_lanes<T>(part, [&](auto lanes) {
      multiply_columns<T, decltype(lanes)::value, 1>(f, rows, column, static_cast<int>(part), finish);
    });
  }
}

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
/// rows, four sums beside each other, and in double over calls.
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
