// Shared by the vector recurrences. A strip is 2 registers of vertices (32 in float with AVX-512, 16 with AVX2, half
// as many in double): one lane is one vertex, so gates, states and their gradients are plain vector arithmetic at any
// width. Values of a strip lie "turned", [columns][strip], with zeros in the lanes after the last vertex. Rows are
// turned on the way in and out in registers, 8 columns at a time. Matrices that multiply turned values are packed into
// panels, whose blocks of up to 12 rows (6 where there are 16 registers) keep their sums in registers and use every
// loaded weight for two registers of vertices.
#pragma once

#include <utility>
#include <vector>

#include "backends/cpu/kernels/add_values.hpp"
#include "backends/cpu/kernels/dense/turn_narrow.hpp"
#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe::cpu {

template <class T>
inline constexpr int strip = 2 * most_lanes<T>;

inline constexpr std::int64_t strips_per_tile = 4;

template <class T>
using Register = Lanes<T, most_lanes<T>>;

/// Columns that are turned at a time.
template <class T>
inline constexpr int turned_columns = most_lanes<T> < 8 ? most_lanes<T> : 8;

/// Scratch memory in whole registers, aligned for them.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count = 0) : lines_(static_cast<std::size_t>(divide_up(count, most_lanes<T>)) + 1) {}
  T* data() { return lines_.data()->values; }
  const T* data() const { return lines_.data()->values; }

 private:
  struct alignas(register_bytes) Line {
    T values[most_lanes<T>] = {};
  };
  std::vector<Line> lines_;
};

/// Lane l of the result: of a and b with lanes that differ from l in bit D exchanged between them.
template <class T, int P, int D, bool upper, std::size_t... L>
[[gnu::always_inline]] inline Lanes<T, P> exchange_lanes(Lanes<T, P> a, Lanes<T, P> b, std::index_sequence<L...>) {
  return __builtin_shufflevector(
      a, b, ((L & D) == 0 ? static_cast<int>(L) + (upper ? D : 0) : P + static_cast<int>(L) - (upper ? 0 : D))...);
}

template <class T, int P, int D, int G>
[[gnu::always_inline]] inline void turn_stage(Lanes<T, P> (&v)[G]) {
#pragma GCC unroll 8
  for (int i = 0; i < G; ++i) {
    if ((i & D) != 0) continue;
    const Lanes<T, P> a = v[i], b = v[i | D];
    v[i] = exchange_lanes<T, P, D, false>(a, b, std::make_index_sequence<P>{});
    v[i | D] = exchange_lanes<T, P, D, true>(a, b, std::make_index_sequence<P>{});
  }
}

/// Transposes each group of G lanes of the G registers.
template <class T, int P, int G>
[[gnu::always_inline]] inline void turn(Lanes<T, P> (&v)[G]) {
  if constexpr (G > 1) turn_stage<T, P, 1>(v);
  if constexpr (G > 2) turn_stage<T, P, 2>(v);
  if constexpr (G > 4) turn_stage<T, P, 4>(v);
}

/// Row i and, for registers of 16 values, row i + 8 next to it; `columns` of each count. When all rows exist, the other
/// lanes hold whatever follows in memory. Rows from `rows` on are zero.
template <class T, bool all>
[[gnu::always_inline]] inline Register<T> load_row_pair(const T* from, std::int64_t stride, int columns, int i,
                                                        int rows) {
  constexpr int G = turned_columns<T>;
  const auto row = [=](int number) {
    const T* at = from + number * stride;
    if constexpr (all) return load<T, G>(at);
    return load_first<T, G>(at, number < rows ? columns : 0);
  };
  const Lanes<T, G> first = row(i);
  if constexpr (most_lanes<T> == G) {
    return first;
  } else {
    const Lanes<T, G> second = row(i + G);
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}

template <class T, bool all, bool accumulate>
[[gnu::always_inline]] inline void store_row_pair(T* to, std::int64_t stride, int columns, int i, int rows,
                                                  Register<T> v) {
  constexpr int G = turned_columns<T>;
  const auto store = [=](T* row, Lanes<T, G> values, int number) {
    if (!all && number >= rows) return;
    if constexpr (accumulate) values += load_first<T, G>(row, columns);
    store_first<T, G>(row, values, columns);
  };
  if constexpr (most_lanes<T> == G) {
    store(to + i * stride, v, i);
  } else {
    store(to + i * stride, __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), i);
    store(to + (i + G) * stride, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15), i + G);
  }
}

/// The lower, or upper, halves of a and b, of 16 values each, side by side.
template <bool upper, class Value>
[[gnu::always_inline]] inline Value join_halves(Value a, Value b) {
  if constexpr (upper) {
    return __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  } else {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  }
}

template <class T, bool all>
[[gnu::noinline]] void load_turned_rows(const T* from, std::int64_t stride, std::int64_t columns, int rows, T* to) {
  constexpr int P = most_lanes<T>, G = turned_columns<T>;
  for (int half = 0; half < 2; ++half) {
    for (std::int64_t column = 0; column < columns; column += G) {
      const int part = static_cast<int>(std::min<std::int64_t>(G, columns - column));
      Register<T> v[G];
#pragma GCC unroll 8
      for (int i = 0; i < G; ++i) {
        v[i] = load_row_pair<T, all>(from + half * P * stride + column, stride, part, i, rows - half * P);
      }
      turn<T, P>(v);
      T* target = to + column * strip<T> + half * P;
#pragma GCC unroll 8
      for (int i = 0; i < G; ++i) {
        if (i < part) store_first<T, P>(target + i * strip<T>, v[i], P);
      }
    }
  }
}

template <class T, bool all, bool accumulate>
[[gnu::noinline]] void store_turned_rows(const T* from, T* to, std::int64_t stride, std::int64_t columns, int rows) {
  constexpr int P = most_lanes<T>, G = turned_columns<T>;
  for (int half = 0; half < 2; ++half) {
    for (std::int64_t column = 0; column < columns; column += G) {
      const int part = static_cast<int>(std::min<std::int64_t>(G, columns - column));
      const T* source = from + column * strip<T> + half * P;
      Register<T> v[G];
#pragma GCC unroll 8
      for (int i = 0; i < G; ++i) v[i] = i < part ? load<T, P>(source + i * strip<T>) : Register<T>{};
      turn<T, P>(v);
#pragma GCC unroll 8
      for (int i = 0; i < G; ++i) {
        store_row_pair<T, all, accumulate>(to + half * P * stride + column, stride, part, i, rows - half * P, v[i]);
      }
    }
  }
}

/// Turns `rows` <= strip rows of `columns` values, `stride` apart, into `to` [columns][strip].
template <class T>
inline void load_turned(const T* from, std::int64_t stride, std::int64_t columns, std::int64_t rows, T* to) {
  const bool narrow = rows == strip<T> && stride == columns;
  if (narrow && with_pairs(columns, [=](auto pairs) { load_narrow<T, decltype(pairs)::value>(from, to); })) return;
  if (rows == strip<T>) return load_turned_rows<T, true>(from, stride, columns, strip<T>, to);
  load_turned_rows<T, false>(from, stride, columns, static_cast<int>(rows), to);
}

/// Whether rows of `columns` values at `to` are whole cache lines.
template <class T>
inline bool in_whole_lines(const T* to, std::int64_t stride, std::int64_t columns) {
  constexpr auto line = static_cast<std::uintptr_t>(64);
  return columns % most_lanes<T> == 0 && static_cast<std::uint64_t>(stride) * sizeof(T) % line == 0 &&
         reinterpret_cast<std::uintptr_t>(to) % line == 0;
}

/// One register past the caches, for what is not read again before the caches have forgotten it. Other threads may
/// read it after end_streams() alone: such stores wait for no ordinary one.
template <class T>
[[gnu::always_inline]] inline void stream_line(T* to, Register<T> v) {
#ifdef STROBE_MASKED_LANES
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#elif defined(STROBE_BLENDED_LANES)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#else
  std::memcpy(to, &v, sizeof(v));
#endif
}

/// Puts the lines that this thread has streamed in front of all that it stores from here on.
inline void end_streams() {
#if defined(STROBE_MASKED_LANES) || defined(STROBE_BLENDED_LANES)
  _mm_sfence();
#endif
}

/// `columns` turned values of a whole strip into rows that are whole cache lines, past the caches.
template <class T>
[[gnu::noinline]] void stream_turned(const T* from, T* to, std::int64_t stride, std::int64_t columns) {
  constexpr int P = most_lanes<T>;
  for (int half = 0; half < 2; ++half, from += P, to += P * stride) {
    for (std::int64_t column = 0; column < columns; column += P) {
      const T* source = from + column * strip<T>;
      if constexpr (P <= 8) {
        Register<T> v[P];
#pragma GCC unroll 8
        for (int i = 0; i < P; ++i) v[i] = load<T, P>(source + i * strip<T>);
        turn<T, P>(v);
#pragma GCC unroll 8
        for (int i = 0; i < P; ++i) stream_line(to + i * stride + column, v[i]);
      } else {
        Register<T> left[8], right[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
          left[i] = load<T, P>(source + i * strip<T>);
          right[i] = load<T, P>(source + (i + 8) * strip<T>);
        }
        turn<T, P>(left);
        turn<T, P>(right);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
          stream_line(to + i * stride + column, join_halves<false>(left[i], right[i]));
          stream_line(to + (i + 8) * stride + column, join_halves<true>(left[i], right[i]));
        }
      }
    }
  }
}

/// Turns `from` [columns][strip] back into `rows` rows, stored or added.
template <class T>
inline void store_turned(const T* from, T* to, std::int64_t stride, std::int64_t columns, std::int64_t rows,
                         bool accumulate = false) {
  const bool narrow = rows == strip<T> && stride == columns;
  if (narrow && with_pairs(columns, [=](auto pairs) {
        constexpr int M = decltype(pairs)::value;
        accumulate ? store_narrow<T, M, true>(from, to) : store_narrow<T, M, false>(from, to);
      }))
    return;
  if (accumulate && stride == columns && columns % most_lanes<T> != 0 && columns * strip<T> <= most_added) {
    alignas(64) T added[most_added];
    store_turned_rows<T, false, false>(from, added, columns, columns, static_cast<int>(rows));
    return add_values(added, to, rows * columns);
  }
  if (accumulate) return store_turned_rows<T, false, true>(from, to, stride, columns, static_cast<int>(rows));
  if (rows == strip<T>) return store_turned_rows<T, true, false>(from, to, stride, columns, strip<T>);
  store_turned_rows<T, false, false>(from, to, stride, columns, static_cast<int>(rows));
}

/// Like store_turned, for values that only the backward pass reads; end_streams() follows the last of them.
template <class T>
inline void keep_turned(const T* from, T* to, std::int64_t columns, std::int64_t rows) {
  if (rows == strip<T> && in_whole_lines(to, columns, columns)) return stream_turned(from, to, columns, columns);
  store_turned(from, to, columns, columns, rows);
}

/// A matrix [rows, inner] in blocks of rows; block b holds [inner][count] values from `offset` on.
template <class T>
struct Panel {
  struct Block {
    std::int64_t first;
    int count;
    std::int64_t offset;
  };
  std::vector<Block> blocks;
  std::vector<T> values;
  std::int64_t inner = 0;

  const T* of(const Block& block) const { return values.data() + block.offset; }
};

/// How many of the `left` rows the next block takes.
inline int block_rows_of(std::int64_t left) {
  if constexpr (many_registers) {
    if (left > 16 || left == 12) return 12;
    if (left >= 8) return 8;
  }
  return left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/// The panel of the matrix whose element (row, k) is get(row, k).
template <class T, class Get>
Panel<T> make_panel(std::int64_t rows, std::int64_t inner, const Get& get) {
  Panel<T> panel;
  panel.inner = inner;
  for (std::int64_t row = 0; row < rows;) {
    const int count = block_rows_of(rows - row);
    panel.blocks.push_back({row, count, static_cast<std::int64_t>(panel.values.size())});
    for (std::int64_t k = 0; k < inner; ++k) {
      for (int i = 0; i < count; ++i) panel.values.push_back(get(row + i, k));
    }
    row += count;
  }
  return panel;
}

/// sum[r] += sum over k of w[k][r] * b[k], with w [inner][R] packed and b [inner][strip] turned. As in tile.hpp, loops
/// over sums are unrolled to keep these in registers.
template <class T, int R>
[[gnu::always_inline]] inline void add_products(const T* w, const T* b, std::int64_t inner, Register<T> (&sum)[R][2]) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t k = 0; k < inner; ++k, w += R, b += strip<T>) {
    const Register<T> left = load<T, P>(b), right = load<T, P>(b + P);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      sum[r][0] += w[r] * left;
      sum[r][1] += w[r] * right;
    }
  }
}

/// Calls body(std::integral_constant<int, R>) for a block of R rows.
template <class Body>
[[gnu::always_inline]] inline void with_rows(int rows, const Body& body) {
  switch (rows) {
    case 12:
      return body(std::integral_constant<int, 12>{});
    case 8:
      return body(std::integral_constant<int, 8>{});
    case 6:
      return body(std::integral_constant<int, 6>{});
    case 4:
      return body(std::integral_constant<int, 4>{});
    case 2:
      return body(std::integral_constant<int, 2>{});
    default:
      return body(std::integral_constant<int, 1>{});
  }
}

/// out [rows][strip] = panel b [inner][strip], or added to `out`.
template <class T>
void multiply_panel(const Panel<T>& panel, const T* b, T* out, bool accumulate) {
  constexpr int P = most_lanes<T>;
  for (const auto& block : panel.blocks) {
    with_rows(block.count, [&](auto rows) {
      constexpr int R = decltype(rows)::value;
      Register<T> sum[R][2];
      T* to = out + block.first * strip<T>;
#pragma GCC unroll 32
      for (int i = 0; i < 2 * R; ++i) sum[i / 2][i % 2] = accumulate ? load<T, P>(to + i * P) : Register<T>{};
      add_products<T, R>(panel.of(block), b, panel.inner, sum);
#pragma GCC unroll 32
      for (int i = 0; i < 2 * R; ++i) store_first<T, P>(to + i * P, sum[i / 2][i % 2], P);
    });
  }
}

/// The weights of gates in panels whose blocks have the same rows: sums = bias + x w_x + h w_h.
template <class T>
struct GatePanels {
  Panel<T> x, h;
  const T* bias = nullptr;
};

/// out [gates][strip] = bias + panels.x x [inputs][strip] + panels.h h [hidden][strip]. The sums go through memory to
/// whoever activates them: constants of an activation in the same function would push them out of the registers.
template <class T>
[[gnu::noinline]] void sum_gates(const GatePanels<T>& panels, const T* x, const T* h, T* out) {
  constexpr int P = most_lanes<T>;
  for (std::size_t b = 0; b < panels.x.blocks.size(); ++b) {
    const auto& block = panels.x.blocks[b];
    with_rows(block.count, [&](auto rows) {
      constexpr int R = decltype(rows)::value;
      Register<T> sum[R][2];
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = broadcast<T, P>(panels.bias[block.first + r]);
      add_products<T, R>(panels.x.of(block), x, panels.x.inner, sum);
      add_products<T, R>(panels.h.of(panels.h.blocks[b]), h, panels.h.inner, sum);
      T* to = out + block.first * strip<T>;
#pragma GCC unroll 32
      for (int i = 0; i < 2 * R; ++i) store_first<T, P>(to + i * P, sum[i / 2][i % 2], P);
    });
  }
}

}  // namespace strobe::cpu
