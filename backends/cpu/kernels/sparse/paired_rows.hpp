// Shared by the kernels on a matrix stored two steps at a time (backends/matrix/paired_matrix.hpp), for rows of at most
// half a 64-byte line. A task is a pair of steps: the values of both alternate in one line for each row, in a
// buffer that stays in the second-level cache, and every entry of the matrix is then one line and one multiply-add.
// Sums of a row are in column order, so they do not depend on the number of threads. Cost: 4 F FLOPs, 10 bytes of
// matrix (12 above 65,536 vertices) and one cached line per entry of the union.
#pragma once

#include <utility>
#include <vector>

#include "backends/cpu/kernels/sparse/gather.hpp"
#include "backends/matrix/length_sorted_matrix.hpp"

namespace strobe::cpu {

/// A pair of steps: its part of the matrix and the rows of x side by side.
template <class T, class Column>
struct PairView {
  const std::int64_t* offsets;
  const std::uint8_t* order;
  const Column* columns;
  const T* values;
  const T* side_by_side;  // [step_rows][2 P]

  /// The row that is stored as row r.
  std::int64_t row(std::int64_t r) const { return r / length_block_rows * length_block_rows + order[r]; }
};

/// Pair `p` of `a` with the rows `side_by_side`.
template <class T, class Column>
PairView<T, Column> pair_view(const PairedMatrix& a, std::int64_t p, const T* side_by_side) {
  return {a.offsets.data<std::int64_t>() + p * a.step_rows, a.order.data<std::uint8_t>() + p * a.step_rows,
          reinterpret_cast<const Column*>(a.columns.raw()), a.values.template data<T>(), side_by_side};
}

/// Lanes i of `a` and of `b` alternating: a0 b0 a1 b1 ...
template <class T, int P, int... I>
[[gnu::always_inline]] inline Lanes<T, 2 * P> interleaved(Lanes<T, P> a, Lanes<T, P> b,
                                                          std::integer_sequence<int, I...>) {
  if constexpr (P == 1) {
    return Lanes<T, 2>{a, b};
  } else {
    return __builtin_shufflevector(a, b, (I % 2 == 0 ? I / 2 : P + I / 2)...);
  }
}

/// Every second lane of `v`, from lane `First` on.
template <class T, int P, int First, int... I>
[[gnu::always_inline]] inline Lanes<T, P> every_second(Lanes<T, 2 * P> v, std::integer_sequence<int, I...>) {
  if constexpr (P == 1) {
    return v[First];
  } else {
    return __builtin_shufflevector(v, v, (First + 2 * I)...);
  }
}

/// The two values of an entry, over and over: v0 v1 v0 v1 ... Two floats are one integer to the broadcast.
template <class T, int P, int... I>
[[gnu::always_inline]] inline Lanes<T, 2 * P> repeated(const T* values, std::integer_sequence<int, I...>) {
  if constexpr (P == 1) {
    return load<T, 2>(values);
  } else if constexpr (sizeof(T) == 4) {
    std::int64_t both;
    std::memcpy(&both, values, sizeof(both));
    return reinterpret_cast<Lanes<T, 2 * P>>(both + Lanes<std::int64_t, P>{});
  } else {
    return Lanes<T, 2 * P>{values[I % 2]...};
  }
}

/// Rows of both steps into one line each, their values alternating; zeros for the second step when there is none.
template <class T, int P>
void lay_side_by_side(const T* first, const T* second, std::int64_t rows, std::int64_t width, T* lines) {
  const int lanes = static_cast<int>(width);
  for (std::int64_t v = 0; v < rows; ++v) {
    const Lanes<T, P> a = load_row<T, P>(first + v * width, lanes);
    const Lanes<T, P> b = second == nullptr ? Lanes<T, P>{} : load_row<T, P>(second + v * width, lanes);
    const Lanes<T, 2 * P> line = interleaved<T, P>(a, b, std::make_integer_sequence<int, 2 * P>());
    std::memcpy(lines + v * 2 * P, &line, sizeof(line));
  }
}

/// values[2k, 2k + 1] times the line of entry k's column.
template <class T, class Column, int P>
[[gnu::always_inline]] inline Lanes<T, 2 * P> entry_product(const PairView<T, Column>& a, std::int64_t k) {
  return repeated<T, P>(a.values + 2 * k, std::make_integer_sequence<int, 2 * P>()) *
         load<T, 2 * P>(a.side_by_side + static_cast<std::int64_t>(a.columns[k]) * 2 * P);
}

/// Asks for row `row` + length_block_rows of both steps' tensors; `second` may be null. Rows of a block are visited in
/// the order of their lengths, which no hardware prefetcher follows; asked for one by one they come in their own order.
template <class T>
[[gnu::always_inline]] inline void prefetch_next_block(const T* first, const T* second, std::int64_t width,
                                                       std::int64_t row) {
  const std::int64_t from = (row + length_block_rows) * width;
  __builtin_prefetch(first + from);
  if (second != nullptr) __builtin_prefetch(second + from);
  if (width <= most_lanes<T>) return;
  for (std::int64_t i = from + most_lanes<T>; i < from + width; i += most_lanes<T>) {
    __builtin_prefetch(first + i);
    if (second != nullptr) __builtin_prefetch(second + i);
  }
}

/// Prefetches the entries a page after entry k.
template <class T, class Column>
[[gnu::always_inline]] inline void prefetch_row(const PairView<T, Column>& a, std::int64_t k) {
  __builtin_prefetch(a.columns + k + prefetch_distance);
  __builtin_prefetch(a.values + 2 * k + prefetch_distance);
  __builtin_prefetch(a.values + 2 * k + prefetch_distance + most_lanes<T>);
}

/// Gathers rows [begin, end) of both steps of a pair into first[(r - begin) * width ...], and into the same places of
/// `second` (may be null); whole blocks of rows.
template <class T, class Column, int P>
void gather_pair(const PairView<T, Column>& a, T* first, T* second, std::int64_t width, bool accumulate,
                 std::int64_t begin, std::int64_t end) {
  const int lanes = static_cast<int>(width);
  const auto add = [&](std::int64_t k, Lanes<T, 2 * P> & to) __attribute__((always_inline)) {
    to += entry_product<T, Column, P>(a, k);
  };
  for (std::int64_t r = begin; r < end; ++r) {
    prefetch_next_block(first, second, width, r - begin);
    prefetch_row(a, a.offsets[r]);
    Lanes<T, 2 * P> sum{}, odd{};
    add_in_turn(a.offsets[r], a.offsets[r + 1], sum, odd, add);
    sum += odd;
    const std::int64_t at = (a.row(r) - begin) * width;
    Lanes<T, P> one = every_second<T, P, 0>(sum, std::make_integer_sequence<int, P>());
    if (accumulate) one += load_first<T, P>(first + at, lanes);
    store_first<T, P>(first + at, one, lanes);
    if (second == nullptr) continue;
    Lanes<T, P> two = every_second<T, P, 1>(sum, std::make_integer_sequence<int, P>());
    if (accumulate) two += load_first<T, P>(second + at, lanes);
    store_first<T, P>(second + at, two, lanes);
  }
}

/// Calls lay(pair, lines, lanes) to fill the line [2 P] of each row, then body(pair, view, lanes), once per pair, as
/// tasks; `width` values of a line's halves are used.
template <class T, class Column, class Lay, class Body>
void for_laid_pairs(const PairedMatrix& a, std::int64_t width, const KernelContext& context, const Lay& lay,
                    const Body& body) {
  with_lanes<T>(width, [&](auto lanes) {
    constexpr int P = decltype(lanes)::value;
    if constexpr (2 * P <= most_lanes<T>) {
      run_tasks(context, a.pairs(), [&](std::int64_t p) {
        T* lines = line_buffer<T>(a.step_rows * 2 * P);
        lay(p, lines, lanes);
        body(p, pair_view<T, Column>(a, p, lines), lanes);
      });
    }
  });
}

/// Rows of `tensor` [steps * step_rows, width] at both steps of pair `p`; the second is null when there is none.
template <class T>
struct StepPair {
  T* first;
  T* second;
  StepPair(const PairedMatrix& a, T* tensor, std::int64_t width, std::int64_t p)
      : first(tensor + 2 * p * a.step_rows * width),
        second(2 * p + 1 < a.steps ? first + a.step_rows * width : nullptr) {}
};

/// Calls body(pair, view, lanes) once per pair, as tasks, with the rows of `in` laid out.
template <class T, class Column, class Body>
void for_pairs(const PairedMatrix& a, const T* in, std::int64_t width, const KernelContext& context, const Body& body) {
  const auto lay = [&](std::int64_t p, T* lines, auto lanes) {
    const StepPair<const T> rows(a, in, width, p);
    lay_side_by_side<T, decltype(lanes)::value>(rows.first, rows.second, a.step_rows, width, lines);
  };
  for_laid_pairs<T, Column>(a, width, context, lay, body);
}

/// A in for both steps of every pair, a block of rows at a time, as tasks: finish(step, sums, begin, end) gets the
/// sums [end - begin, width] of rows [begin, end) of a step. They lie in `kept` [steps * step_rows, width], or where it
/// is null in scratch.
template <class T, class Column, class Finish>
void gather_blocks(const PairedMatrix& a, const T* in, std::int64_t width, T* kept, const KernelContext& context,
                   const Finish& finish) {
  for_pairs<T, Column>(a, in, width, context, [&](std::int64_t p, const auto& view, auto lanes) {
    const bool two = 2 * p + 1 < a.steps;
    std::vector<T> scratch(kept != nullptr ? 0
                                           : static_cast<std::size_t>(2 * length_block_rows * width + most_lanes<T>));
    for (std::int64_t begin = 0; begin < a.step_rows; begin += length_block_rows) {
      const std::int64_t end = std::min(a.step_rows, begin + length_block_rows);
      T* first = kept != nullptr ? kept + (2 * p * a.step_rows + begin) * width : scratch.data();
      T* second = !two ? nullptr : first + (kept != nullptr ? a.step_rows : length_block_rows) * width;
      gather_pair<T, Column, decltype(lanes)::value>(view, first, second, width, false, begin, end);
      finish(2 * p, first, begin, end);
      if (two) finish(2 * p + 1, second, begin, end);
    }
  });
}

/// Calls body(T{}, Column{}) after the matrix's types.
template <class Body>
void with_types(const PairedMatrix& a, const Body& body) {
  with_element(a.values.type(),
               [&](auto zero) { a.narrow ? body(zero, std::uint16_t{}) : body(zero, std::int32_t{}); });
}

}  // namespace strobe::cpu
