// Tiles of the dense building block (tile.hpp), for both element types and both targets.
#include "backends/cpu/kernels/dense/tile.hpp"

namespace strobe::cpu {
namespace {

/// Stores the sums of a tile. for_sums(body) calls body(i, column, lanes, sum) for every register of the tile. The kind
/// of store is chosen outside of it, once a tile, so that every pass over the registers is unrolled.
template <class T, int P, class ForSums>
[[gnu::always_inline]] inline void put_sums(const ProductStore<T>& target, const ForSums& for_sums) {
  using V = Lanes<T, P>;
  if (target.bias != nullptr) {
    for_sums([&](std::int64_t, std::int64_t column, int lanes, V& sum)
                 __attribute__((always_inline)) { sum += load_first<T, P>(target.bias + column, lanes); });
  }
  if (target.with_relu)
    for_sums([](std::int64_t, std::int64_t, int, V& sum) __attribute__((always_inline)) { sum = relu<T, P>(sum); });
  T* const to = target.to;
  const std::int64_t stride = target.stride;
  if (target.accumulate) {
    for_sums([=](std::int64_t i, std::int64_t column, int lanes, V& sum) __attribute__((always_inline)) {
      store_first<T, P>(to + i * stride + column, load_first<T, P>(to + i * stride + column, lanes) + sum, lanes);
    });
  } else {
    for_sums([=](std::int64_t i, std::int64_t column, int lanes, V& sum)
                 __attribute__((always_inline)) { store_first<T, P>(to + i * stride + column, sum, lanes); });
  }
}

template <class T, int P, class ForSums>
[[gnu::always_inline]] inline void put_sums(const ProductSums& target, const ForSums& for_sums) {
  double* const to = target.to;
  const std::int64_t stride = target.stride;
  for_sums([=](std::int64_t i, std::int64_t column, int lanes, Lanes<T, P>& sum)
               __attribute__((always_inline)) { add_in_double<T, P>(to + i * stride + column, sum, lanes); });
}

/// One tile, whose last register has `last` valid lanes. Every loop over sums is unrolled, because an array indexed by
/// a loop stays in memory and is stored at every term.
template <class T, int P, int K, int R, class Target>
[[gnu::always_inline]] inline void multiply_tile(const Factors<T>& f, std::int64_t row, std::int64_t column, int last,
                                                 const Target& target) {
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
  put_sums<T, P>(
      target, [&](const auto& body) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
          for (int c = 0; c < K; ++c) body(row + i, column + c * P, c + 1 < K ? P : last, sum[i][c]);
        }
      });
}

/// One K-register column of C in tiles of 6 rows, or 8 when their sums take half of the machine's registers at most.
/// The remaining rows go in tiles of 4, 2 and 1, because weight gradients have few rows and many terms, and each tile
/// walks all of them. With one register, tiles of 5 and 3 rows exist too, so that few sums wait for each other whatever
/// their number.
template <class T, int P, int K, class Target>
void multiply_columns(const Factors<T>& f, std::int64_t rows, std::int64_t column, int last, const Target& target) {
  std::int64_t row = 0;
  if constexpr (8 * K <= register_count / 2) {
    for (; rows - row >= 8 && rows - row != 10 && rows - row != 12; row += 8)
      multiply_tile<T, P, K, 8>(f, row, column, last, target);
  }
  for (; row + 6 <= rows; row += 6) multiply_tile<T, P, K, 6>(f, row, column, last, target);
  if constexpr (K == 1) {
    if (rows - row == 5) return multiply_tile<T, P, K, 5>(f, row, column, last, target);
    if (rows - row == 3) return multiply_tile<T, P, K, 3>(f, row, column, last, target);
  }
  for (; row + 4 <= rows; row += 4) multiply_tile<T, P, K, 4>(f, row, column, last, target);
  for (; row + 2 <= rows; row += 2) multiply_tile<T, P, K, 2>(f, row, column, last, target);
  for (; row < rows; ++row) multiply_tile<T, P, K, 1>(f, row, column, last, target);
}

/// All tiles of C [rows, width].
template <class T, class Target>
void multiply_to(const Factors<T>& f, std::int64_t rows, std::int64_t width, const Target& target) {
  constexpr int P = most_lanes<T>;
  std::int64_t column = 0;
  const auto lanes_left = [&](int registers) {
    return static_cast<int>(std::min<std::int64_t>(P, width - column - registers * P));
  };
  if constexpr (many_registers) {
    for (; column + 3 * P < width; column += 4 * P) multiply_columns<T, P, 4>(f, rows, column, lanes_left(3), target);
  }
  for (; column + P < width; column += 2 * P) multiply_columns<T, P, 2>(f, rows, column, lanes_left(1), target);
  for (; column < width; column += P) {
    const std::int64_t part = std::min<std::int64_t>(P, width - column);
    with_lanes<T>(part, [&](auto lanes) {
      multiply_columns<T, decltype(lanes)::value, 1>(f, rows, column, static_cast<int>(part), target);
    });
  }
}

}  // namespace

template <class T>
void multiply(const Factors<T>& f, std::int64_t rows, std::int64_t width, const ProductStore<T>& target) {
  multiply_to(f, rows, width, target);
}

template <class T>
void multiply(const Factors<T>& f, std::int64_t rows, std::int64_t width, const ProductSums& target) {
  multiply_to(f, rows, width, target);
}

template void multiply(const Factors<float>&, std::int64_t, std::int64_t, const ProductStore<float>&);
template void multiply(const Factors<double>&, std::int64_t, std::int64_t, const ProductStore<double>&);
template void multiply(const Factors<float>&, std::int64_t, std::int64_t, const ProductSums&);
template void multiply(const Factors<double>&, std::int64_t, std::int64_t, const ProductSums&);

}  // namespace strobe::cpu
