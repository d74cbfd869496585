// Products of rows with packed weights, for recurrences whose states are whole registers: C = sum over sources of A B,
// where rows of A are read as they lie in memory, so that nothing is turned (vertex_strip.hpp), and B lies in panels of
// 2 registers of its columns. Tiles of 12 rows (6 where there are 16 registers) by 2 registers keep their sums in
// registers, and load 2 registers of B and a value of A a row for them; a panel of some 200 rows stays in the
// first-level cache from tile to tile. Every element of C adds the terms of each source in order, whatever the tile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "backends/cpu/kernels/dense/strip_sums.hpp"

namespace strobe::cpu {

/// B [inner, width] in consecutive panels of up to 2 registers of its columns, each [inner][registers], with zeros
/// after the last column.
template <class T>
class PackedColumns {
 public:
  static constexpr std::int64_t panel_width = 2 * most_lanes<T>;

  PackedColumns() = default;
  /// Packs `inner` rows of `width` values at `from`.
  PackedColumns(const T* from, std::int64_t inner, std::int64_t width) : PackedColumns(inner, width) {
    for (std::int64_t first = 0; first < width; first += panel_width) {
      const std::int64_t count = std::min(panel_width, width - first), stride = registers(first) * most_lanes<T>;
      T* to = values_.data() + first * inner;
      for (std::int64_t k = 0; k < inner; ++k, to += stride) std::copy_n(from + k * width + first, count, to);
    }
  }
  /// Packs the transpose of `width` rows of `inner` values at `from`.
  static PackedColumns turned(const T* from, std::int64_t inner, std::int64_t width) {
    PackedColumns result(inner, width);
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t first = column / panel_width * panel_width;
      const std::int64_t stride = result.registers(first) * most_lanes<T>;
      T* to = result.values_.data() + first * inner + column - first;
      for (std::int64_t k = 0; k < inner; ++k) to[k * stride] = from[column * inner + k];
    }
    return result;
  }

  std::int64_t inner() const { return inner_; }
  std::int64_t width() const { return width_; }
  /// Registers of the panel that begins at `column`, a multiple of panel_width.
  std::int64_t registers(std::int64_t column) const {
    return divide_up(std::min(panel_width, width_ - column), most_lanes<T>);
  }
  const T* panel(std::int64_t column) const { return values_.data() + column * inner_; }

 private:
  PackedColumns(std::int64_t inner, std::int64_t width)
      : inner_(inner), width_(width), values_(inner * divide_up(width, most_lanes<T>) * most_lanes<T>) {}

  std::int64_t inner_ = 0, width_ = 0;
  Scratch<T> values_;
};

/// Lines of memory to prefetch. A core waits for few lines at a time, so the loops of a product that computes meanwhile
/// prefetch them one by one, into the second-level cache. Lines that no loop reaches are dropped.
class LinesAhead {
 public:
  /// Up to `count` lines: line k is at first + min(k, last) * 64.
  struct Lines {
    const std::byte* first;
    std::int64_t last;
  };

  void clear() { ranges_ = 0, current_ = 0; }
  /// Rows of a tensor [steps * vertices, F], if it is there, that the strip or block `next` reads at its own step, or
  /// `back` steps before.
  void add(const NextStrip& next, std::int64_t vertices, const Tensor& tensor, std::int64_t back = 0) {
    if (next.rows <= 0 || next.step < back || !tensor.defined() || ranges_ == most_ranges) return;
    const std::int64_t row = (next.step - back) * vertices + next.vertex;
    const std::int64_t row_bytes = tensor.row_bytes();
    lines_[ranges_++] = {tensor.raw() + row * row_bytes, divide_up(next.rows * row_bytes, 64)};
  }
  /// The next lines; `otherwise`, a readable address, where there are none.
  Lines take(std::int64_t count, const void* otherwise) {
    if (current_ == ranges_) return {static_cast<const std::byte*>(otherwise), 0};
    Lines& range = lines_[current_];  // `last` counts those that are left
    const Lines taken{range.first, std::min(count, range.last) - 1};
    range.first += (taken.last + 1) * 64;
    range.last -= taken.last + 1;
    if (range.last == 0) ++current_;
    return taken;
  }

 private:
  static constexpr std::size_t most_ranges = 16;
  std::array<Lines, most_ranges> lines_{};
  std::size_t ranges_ = 0, current_ = 0;
};

/// Rows of A, `stride` values apart, and the B that they are multiplied with.
template <class T>
struct RowSource {
  const T* rows;
  std::int64_t stride;
  const PackedColumns<T>* weights;
};

/// Row i of 12, whose rows 0, 3, 6 and 9 are at the addresses. The offset is no product of i and the stride: for an
/// unrolled one GCC 12 with both sanitizers takes that of the row before.
template <class T, int i>
[[gnu::always_inline]] inline T value_of_row(const T* p0, const T* p1, const T* p2, const T* p3, std::int64_t stride) {
  const T* const p = i < 3 ? p0 : i < 6 ? p1 : i < 9 ? p2 : p3;
  return i % 3 == 0 ? *p : i % 3 == 1 ? p[stride] : p[2 * stride];
}

/// sum[i][c] += row i of A times register c of a panel of B, while `lines` are asked for. As in tile.hpp, loops over
/// sums are unrolled. One address serves three rows, at 0, 1 and 2 strides from it: addresses of all 12 rows would not
/// fit the registers, and GCC would fetch some of them from memory for every term.
template <class T, int K, int R>
[[gnu::always_inline]] inline void add_row_products(const T* a, std::int64_t stride, std::int64_t inner, const T* b,
                                                    const LinesAhead::Lines& lines, Register<T> (&sum)[R][K]) {
  constexpr int P = most_lanes<T>;
  const T *p0 = a, *p1 = a + 3 * stride, *p2 = a + 6 * stride, *p3 = a + 9 * stride;
  for (std::int64_t k = 0; k < inner; ++k, b += K * P, ++p0, ++p1, ++p2, ++p3) {
    hold_value(p0);
    if constexpr (R > 3) hold_value(p1);
    if constexpr (R > 6) hold_value(p2);
    if constexpr (R > 9) hold_value(p3);
    __builtin_prefetch(lines.first + std::min(k, lines.last) * 64, 0, 2);
    Register<T> right[K];
#pragma GCC unroll 2
    for (int c = 0; c < K; ++c) right[c] = load<T, P>(b + c * P);
    const auto add_row = [&]<int i>(std::integral_constant<int, i>) __attribute__((always_inline)) {
      const T left = value_of_row<T, i>(p0, p1, p2, p3, stride);
#pragma GCC unroll 2
      for (int c = 0; c < K; ++c) sum[i][c] += left * right[c];
    };
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      (add_row(std::integral_constant<int, i>{}), ...);
    }
    (std::make_integer_sequence<int, R>{});
  }
}

/// Where C goes: element (r, column) is stored at to[r * stride + column], or added to it; rows begin with a bias
/// [width] that may be null. Without addition, `with_relu` stores max(C, 0), and `streams` stores whole lines past the
/// caches. Rows of C are then whole lines, and end_streams() follows the last of them.
template <class T>
struct RowStore {
  T* to;
  std::int64_t stride, width;
  bool accumulate = false;
  const T* bias = nullptr;
  bool with_relu = false, streams = false;

  static constexpr int P = most_lanes<T>;
  int lanes(std::int64_t column) const { return static_cast<int>(std::min<std::int64_t>(P, width - column)); }
  Register<T> begin(std::int64_t column) const {
    return bias == nullptr ? Register<T>{} : load_first<T, P>(bias + column, lanes(column));
  }
  void put(std::int64_t r, std::int64_t column, Register<T> sum) const {
    T* const at = to + r * stride + column;
    if (accumulate) sum += load_first<T, P>(at, lanes(column));
    store_first<T, P>(at, sum, lanes(column));
  }
};

/// Rows of a tile: of two registers each, their sums leave some for what they are made of.
inline constexpr int tile_rows = many_registers ? 12 : 6;

/// R rows of C by the K registers of one panel.
template <class T, int K, int R>
[[gnu::always_inline]] inline void row_tile(std::span<const RowSource<T>> sources, std::int64_t row,
                                            std::int64_t column, LinesAhead& ahead, const RowStore<T>& store) {
  constexpr int P = most_lanes<T>;
  Register<T> sum[R][K];
#pragma GCC unroll 2
  for (int c = 0; c < K; ++c) {
    const Register<T> first = store.begin(column + c * P);
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) sum[i][c] = first;
  }
  for (const RowSource<T>& source : sources) {
    const std::int64_t inner = source.weights->inner();
    const T* const a = source.rows + row * source.stride;
    add_row_products<T, K, R>(a, source.stride, inner, source.weights->panel(column), ahead.take(inner, a), sum);
  }
  const auto for_sums = [&](const auto& body) __attribute__((always_inline)) {
#pragma GCC unroll 12
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
      for (int c = 0; c < K; ++c) body(i, c, sum[i][c]);
    }
  };
  T* const to = store.to + row * store.stride + column;
  const auto at = [=](int i, int c) { return to + i * store.stride + c * P; };
  if (store.with_relu) for_sums([](int, int, Register<T>& v) { v = relu<T, P>(v); });
  if (store.streams) return for_sums([&](int i, int c, Register<T> v) { stream_line(at(i, c), v); });
  const bool plain = !store.accumulate && column + K * P <= store.width;  // asked once for all of the tile
  if (plain) return for_sums([&](int i, int c, Register<T> v) { store_first<T, P>(at(i, c), v, P); });
  for_sums([&](int i, int c, Register<T> v) { store.put(row + i, column + c * P, v); });
}

/// C [rows, width] of sources of the same width, at least one, to `store`. Lines of `ahead` are asked for meanwhile.
/// Never inlined: within a walk through time its addresses would compete with the walk's own.
template <class T>
[[gnu::noinline]] void multiply_rows(std::span<const RowSource<T>> sources, std::int64_t rows, LinesAhead& ahead,
                                     const RowStore<T>& store) {
  const PackedColumns<T>& shape = *sources.front().weights;
  const auto panel = [&](auto registers, std::int64_t column) {
    constexpr int K = decltype(registers)::value;
    std::int64_t row = 0;
    for (; row + tile_rows <= rows; row += tile_rows) row_tile<T, K, tile_rows>(sources, row, column, ahead, store);
    for (; row + 4 <= rows; row += 4) row_tile<T, K, 4>(sources, row, column, ahead, store);
    for (; row < rows; ++row) row_tile<T, K, 1>(sources, row, column, ahead, store);
  };
  for (std::int64_t column = 0; column < shape.width(); column += PackedColumns<T>::panel_width) {
    if (shape.registers(column) == 2) {
      panel(std::integral_constant<int, 2>{}, column);
    } else {
      panel(std::integral_constant<int, 1>{}, column);
    }
  }
}

}  // namespace strobe::cpu
