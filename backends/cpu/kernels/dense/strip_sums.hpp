// Weight gradients of the vector recurrences and of dense layers of many weights: sums over the vertices of a tile in
// the element type, over steps and tiles in double, and over ranges of tiles in their order. Ranges depend on the
// number of vertices only.
#pragma once

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/dense/vertex_strip.hpp"

namespace strobe::cpu {

/// Ranges of tiles of vertices: at most 64, of whole tiles.
struct TileRanges {
  std::int64_t vertices, tile, grain;

  TileRanges(std::int64_t n, std::int64_t tile_rows) : vertices(n), tile(tile_rows), grain(tile) {
    grain = divide_up(divide_up(n, tile), 64) * tile;
  }
  std::int64_t count() const { return grain == 0 ? 0 : divide_up(vertices, grain); }
};

/// Turned values [columns][strip] of the strips of a tile; consecutive strips lie `apart` values apart.
template <class T>
struct TurnedStrips {
  const T* first;
  std::int64_t apart;
};

/// Up to this many values of matrices, their sums stay in the first-level cache with one register each.
inline constexpr std::int64_t most_turned_sums = 480;

/// The gradients of one range: `count` values of matrices, followed by `lanes` values of sums over lanes. The matrices
/// are summed from rows (`add`), or when `turned` from the values of strips (`add_turned`).
template <class T>
class StripSums {
 public:
  StripSums(std::int64_t count, std::int64_t lanes, double* total, bool turned = false)
      : recent_(turned ? 0 : count),
        by_lane_(((turned ? count : 0) + lanes) * most_lanes<T>),
        total_(total),
        count_(count),
        lanes_(lanes),
        turned_(turned ? count : 0) {}

  /// Matrix at `at` with rows of `stride` += a^T b over `rows` rows: a(r, i) = a[r * a_stride + i], i < `inner`;
  /// b(r, j) = b[r * b_stride + j], j < `width`.
  void add(std::int64_t at, std::int64_t stride, const T* a, std::int64_t a_stride, std::int64_t inner, const T* b,
           std::int64_t b_stride, std::int64_t width, std::int64_t rows) {
    multiply(Factors<T>{a, 1, a_stride, b, b_stride, rows}, inner, width,
             ProductStore<T>{.to = recent_.data() + at, .stride = stride, .accumulate = true});
  }

  /// Like add, for `strips` <= strips_per_tile strips of a [inner][strip] and b [width][strip]. For `turned` sums: each
  /// is loaded and stored once for all strips. A walk over them after every strip would take half of the first-level
  /// cache each time.
  void add_turned(std::int64_t at, std::int64_t stride, const TurnedStrips<T>& a, std::int64_t inner,
                  const TurnedStrips<T>& b, std::int64_t width, std::int64_t strips) {
    static_assert(strips_per_tile == 4);
    switch (strips) {
      case 4:
        return add_turned_strips<4>(at, stride, a, inner, b, width);
      case 3:
        return add_turned_strips<3>(at, stride, a, inner, b, width);
      case 2:
        return add_turned_strips<2>(at, stride, a, inner, b, width);
      default:
        return add_turned_strips<1>(at, stride, a, inner, b, width);
    }
  }

  /// The sums over lanes += the turned values `b` [lanes][strip].
  void add_lanes(const T* b) {
    constexpr int P = most_lanes<T>;
    for (std::int64_t j = 0; j < lanes_; ++j, b += strip<T>) {
      T* to = by_lane_.data() + (turned_ + j) * P;
      store_first<T, P>(to, load<T, P>(to) + load<T, P>(b) + load<T, P>(b + P), P);
    }
  }

  /// Moves what was added to the double totals. Called at least every `steps_per_flush` steps of a tile.
  void flush() {
    for (std::int64_t i = 0; i < count_ - turned_; ++i) {
      total_[i] += static_cast<double>(recent_.data()[i]);
      recent_.data()[i] = T{0};
    }
    double* to = total_ + count_ - turned_;
    for (std::int64_t i = 0; i < turned_ + lanes_; ++i) {
      T* lanes = by_lane_.data() + i * most_lanes<T>;
      to[i] += sum_of_lanes(lanes);
      store_first<T, most_lanes<T>>(lanes, Register<T>{}, most_lanes<T>);
    }
  }

 private:
  /// The sum of one register, in double; half of it is added to the other half until one lane is left.
  static double sum_of_lanes(const T* lanes) {
    constexpr int D = most_lanes<double>;
    Lanes<double, D> sum{};
    for (int i = 0; i < most_lanes<T>; i += D) sum += __builtin_convertvector(load<T, D>(lanes + i), Lanes<double, D>);
    const auto add_half = [&]<std::size_t... L>(std::index_sequence<L...>, auto distance) {
      constexpr int far = decltype(distance)::value;
      sum += __builtin_shufflevector(sum, sum, (static_cast<int>(L) ^ far)...);
    };
    constexpr auto all = std::make_index_sequence<D>{};
    if constexpr (D > 4) add_half(all, std::integral_constant<int, 4>{});
    if constexpr (D > 2) add_half(all, std::integral_constant<int, 2>{});
    return sum[0] + sum[1];
  }

  template <int S>
  void add_turned_strips(std::int64_t at, std::int64_t stride, TurnedStrips<T> a, std::int64_t inner,
                         const TurnedStrips<T>& b, std::int64_t width) {
    constexpr int R = many_registers || S <= 2 ? 2 : 1;
    std::int64_t row = 0;
    for (; row + R <= inner; row += R, a.first += R * strip<T>)
      add_turned_rows<S, R>(at + row * stride, stride, a, b, width);
    if (row < inner) add_turned_rows<S, 1>(at + row * stride, stride, a, b, width);
  }

  /// R rows of `a` stay in registers for all of b.
  template <int S, int R>
  void add_turned_rows(std::int64_t at, std::int64_t stride, const TurnedStrips<T>& a, const TurnedStrips<T>& b,
                       std::int64_t width) {
    constexpr int P = most_lanes<T>;
    Register<T> left[R][2 * S];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int i = 0; i < 2 * S; ++i) left[r][i] = load<T, P>(a.first + i / 2 * a.apart + r * strip<T> + i % 2 * P);
    }
    T* to = by_lane_.data() + at * P;
    const T* from = b.first;
    for (std::int64_t j = 0; j < width; ++j, to += P, from += strip<T>) {
      Register<T> sum[R], other[R] = {};
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) sum[r] = load<T, P>(to + r * stride * P);
#pragma GCC unroll 8
      for (int i = 0; i < 2 * S; i += 2) {
        const T* values = from + i / 2 * b.apart;
        Register<T> first = load<T, P>(values), second = load<T, P>(values + P);
        if constexpr (R > 1) {
          hold_value(first);
          hold_value(second);
        }
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          sum[r] += left[r][i] * first;
          other[r] += left[r][i + 1] * second;
        }
      }
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) store_first<T, P>(to + r * stride * P, sum[r] + other[r], P);
    }
  }

  Scratch<T> recent_, by_lane_;
  double* total_;
  std::int64_t count_, lanes_, turned_;
};

inline constexpr std::int64_t steps_per_flush = 32;

/// How far rows of `width` values of a tile lie apart in scratch memory: rows a power of two apart would share few sets
/// of the first-level cache.
template <class T>
inline std::int64_t spread_rows(std::int64_t width) {
  return width * static_cast<std::int64_t>(sizeof(T)) % 512 == 0 ? width + most_lanes<T> : width;
}

/// The strip, or block of rows, that a walk visits next: vertices [vertex, vertex + rows) at `step`; no rows after the
/// last one.
struct NextStrip {
  std::int64_t step = 0, vertex = 0, rows = 0;
};

/// The `rows` vertices after those at `vertex` of a tile [begin, end), or the tile's first at `other_step`.
inline NextStrip rows_after(std::int64_t vertex, std::int64_t rows, std::int64_t step, std::int64_t other_step,
                            std::int64_t begin, std::int64_t end) {
  const bool same = vertex + rows < end;
  const std::int64_t first = same ? vertex + rows : begin;
  return {same ? step : other_step, first, std::min(rows, end - first)};
}

/// The same of a strip.
template <class T>
NextStrip strip_after(std::int64_t vertex, std::int64_t step, std::int64_t other_step, std::int64_t begin,
                      std::int64_t end) {
  return rows_after(vertex, strip<T>, step, other_step, begin, end);
}

/// Prefetches the lines of `rows` rows of a tensor from `row` on, which are soon read, or with `write` written. Rows
/// that would fill much of the first-level cache go to the second. A core waits for few lines at a time, so spread the
/// calls over the work between them. This function and its callers are always inlined: GCC takes a function of nothing
/// but prefetches for one without effects and may drop its calls.
template <bool write = false>
[[gnu::always_inline]] inline void prefetch_rows(const Tensor& tensor, std::int64_t row, std::int64_t rows) {
  constexpr std::uint64_t most_of_first_level = 2 << 10;
  const std::byte* from = tensor.raw() + static_cast<std::uint64_t>(row) * tensor.row_bytes();
  const std::uint64_t bytes = static_cast<std::uint64_t>(rows) * tensor.row_bytes();
  if (bytes > most_of_first_level) {
    for (std::uint64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, write ? 1 : 0, 2);
  } else {
    for (std::uint64_t i = 0; i < bytes; i += 64) __builtin_prefetch(from + i, write ? 1 : 0);
  }
}

/// Asks for what the next strip reads of a tensor [steps * vertices, F] at its own step, or `back` steps before.
template <bool write = false>
[[gnu::always_inline]] inline void prefetch_strip(const NextStrip& next, std::int64_t vertices, const Tensor& tensor,
                                                  std::int64_t back = 0) {
  if (next.step < back || !tensor.defined()) return;
  prefetch_rows<write>(tensor, (next.step - back) * vertices + next.vertex, next.rows);
}

}  // namespace strobe::cpu
