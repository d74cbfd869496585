// Weight gradients of the vector recurrences and of dense layers of many weights: sums over the vertices of a tile in
// the element type, over steps and tiles in double, and over ranges of tiles in their order. Ranges depend on the
// number of vertices only.
#pragma once

#include "backends/cpu/kernels/tile.hpp"
#include "backends/cpu/kernels/vertex_strip.hpp"

namespace strobe::cpu {

/// Ranges of tiles of vertices: at most 64, of whole tiles.
template <class T>
struct TileRanges {
  std::int64_t vertices, tile, grain;

  explicit TileRanges(std::int64_t n) : vertices(n), tile(strip<T> * strips_per_tile), grain(tile) {
    grain = divide_up(divide_up(n, tile), 64) * tile;
  }
  std::int64_t count() const { return grain == 0 ? 0 : divide_up(vertices, grain); }
};

/// The gradients of one range: `count` values of matrices, and behind them `lanes` values of sums over lanes.
template <class T>
class StripSums {
 public:
  StripSums(std::int64_t count, std::int64_t lanes, double* total)
      : recent_(count), by_lane_(lanes * most_lanes<T>), total_(total), count_(count), lanes_(lanes) {}

  /// Matrix at `at` with rows of `stride` += a^T b over `rows` rows: a(r, i) = a[r * a_stride + i], i < `inner`;
  /// b(r, j) = b[r * b_stride + j], j < `width`.
  void add(std::int64_t at, std::int64_t stride, const T* a, std::int64_t a_stride, std::int64_t inner, const T* b,
           std::int64_t b_stride, std::int64_t width, std::int64_t rows) {
    T* sums = recent_.data() + at;
    multiply(Factors<T>{a, 1, a_stride, b, b_stride, rows}, inner, width,
             [=](std::int64_t i, std::int64_t column, int lanes, auto sum) {
               constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
               T* to = sums + i * stride + column;
               store_first<T, P>(to, load_first<T, P>(to, lanes) + sum, lanes);
             });
  }

  /// The sums over lanes += the turned values `b` [lanes][strip].
  void add_lanes(const T* b) {
    constexpr int P = most_lanes<T>;
    for (std::int64_t j = 0; j < lanes_; ++j, b += strip<T>) {
      T* to = by_lane_.data() + j * P;
      store_first<T, P>(to, load<T, P>(to) + load<T, P>(b) + load<T, P>(b + P), P);
    }
  }

  /// Moves what was added to the double totals. Called at least every `steps_per_flush` steps of a tile.
  void flush() {
    for (std::int64_t i = 0; i < count_; ++i) {
      total_[i] += static_cast<double>(recent_.data()[i]);
      recent_.data()[i] = T{0};
    }
    for (std::int64_t i = 0; i < lanes_ * most_lanes<T>; ++i) {
      total_[count_ + i / most_lanes<T>] += static_cast<double>(by_lane_.data()[i]);
      by_lane_.data()[i] = T{0};
    }
  }

 private:
  Scratch<T> recent_, by_lane_;
  double* total_;
  std::int64_t count_, lanes_;
};

inline constexpr std::int64_t steps_per_flush = 32;

/// target += the ranges' totals from `first` on, in order of ranges that lie `stride` apart.
template <class T>
void add_totals(const Tensor& target, const std::vector<double>& totals, std::int64_t first, std::int64_t stride) {
  for (std::int64_t i = 0; i < target.elements(); ++i) {
    double total = static_cast<double>(target.data<T>()[i]);
    for (auto p = static_cast<std::size_t>(first + i); p < totals.size(); p += static_cast<std::size_t>(stride)) {
      total += totals[p];
    }
    target.data<T>()[i] = static_cast<T>(total);
  }
}

/// How far rows of `width` values of a tile lie apart in scratch memory: rows a power of two apart would share few sets
/// of the first-level cache.
template <class T>
inline std::int64_t spread_rows(std::int64_t width) {
  return width * static_cast<std::int64_t>(sizeof(T)) % 512 == 0 ? width + most_lanes<T> : width;
}

/// Asks for the lines of `rows` rows of a tensor from `row` on, which are read, or with `write` written, soon. What
/// would fill much of the first-level cache is brought into the second.
template <bool write = false>
inline void prefetch_rows(const Tensor& tensor, std::int64_t row, std::int64_t rows) {
  constexpr std::uint64_t most_of_first_level = 8 << 10;
  const std::byte* from = tensor.raw() + static_cast<std::uint64_t>(row) * tensor.row_bytes();
  const std::uint64_t bytes = static_cast<std::uint64_t>(rows) * tensor.row_bytes();
  if (bytes > most_of_first_level) {
    for (std::uint64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, write ? 1 : 0, 2);
  } else {
    for (std::uint64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, write ? 1 : 0);
  }
}

}  // namespace strobe::cpu
