// Rows of a sparse product from a matrix whose rows lie by length in blocks (backends/matrix/length_sorted_matrix.hpp):
// the sums of gather.hpp, bit for bit, without its wrong guesses of where a row ends. Cost: 2 F FLOPs, 6 bytes of
// matrix (8 where columns lie far apart) and one cached row of `in` per entry.
#pragma once

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/sparse/step_ranges.hpp"
#include "backends/matrix/length_sorted_matrix.hpp"

namespace strobe::cpu {

/// A matrix by raw arrays.
template <class T, class Column>
struct LengthSortedView {
  const std::int64_t* offsets;
  const std::uint8_t* order;
  const std::int32_t* bases;
  const Column* columns;
  const T* values;
  std::int64_t rows;

  explicit LengthSortedView(const LengthSortedMatrix& a)
      : offsets(a.offsets.data<std::int64_t>()),
        order(a.order.data<std::uint8_t>()),
        bases(a.bases.data<std::int32_t>()),
        columns(reinterpret_cast<const Column*>(a.columns.raw())),
        values(a.values.data<T>()),
        rows(a.rows) {}
};

/// Most columns of a product that these rows serve: two registers. Wider rows take longer than a wrong guess.
template <class T>
inline constexpr std::int64_t most_sorted_width = 2 * most_lanes<T>;

template <class T>
bool serves(const std::shared_ptr<const LengthSortedMatrix>& a, std::int64_t width) {
  return a != nullptr && a->values.type() == element_type_of<T> && width > 0 && width <= most_sorted_width<T>;
}

inline bool serves(const std::shared_ptr<const LengthSortedMatrix>& a, const Tensor& x) {
  return x.type() == ElementType::f32 ? serves<float>(a, x.columns()) : serves<double>(a, x.columns());
}

/// Rows of `width` values that entries reach for, `stride` apart.
template <class T>
struct NarrowRows {
  const T* values;
  std::int64_t width, stride;
};

/// Lanes of the registers that rows of `width` columns are read in.
template <class T>
std::int64_t lanes_of_row(std::int64_t width) {
  if (width > most_lanes<T>) return divide_up(width, most_lanes<T>) * most_lanes<T>;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(width)));
}

/// The rows that the entries of `range` read. Rows of at least half a line that cross lines are copied to places of
/// whole registers, if their entries read no others and half of the second-level cache holds them there. Other rows are
/// prefetched where they are. Copies are in this thread's line_buffer.
template <class T>
NarrowRows<T> rows_at_hand(const Tensor& in, const StepRange& range) {
  constexpr std::uint64_t half_line = 32;
  const std::uint64_t half_cache = step_ranges_detail::most_bytes() / 2;
  const T* const from = in.data<T>();
  const std::int64_t width = in.columns(), lanes = lanes_of_row<T>(width), rows = range.last - range.first;
  const auto row_bytes = static_cast<std::uint64_t>(lanes) * sizeof(T);
  if (!range.all || lanes == width || row_bytes < half_line ||
      static_cast<std::uint64_t>(rows) * row_bytes > half_cache) {
    bring_in(from, width, range);
    return {from, width, width};
  }
  T* const copies = line_buffer<T>(rows * lanes + most_lanes<T>);
  const T* const first = from + range.first * width;
  with_lanes<T>(std::min<std::int64_t>(lanes, most_lanes<T>), [&](auto part) {
    constexpr int P = decltype(part)::value;
    for (std::int64_t r = 0; r < rows; ++r) {  // nobody reads the lanes after a row
      for (std::int64_t c = 0; c < lanes; c += P)
        store_first<T, P>(copies + r * lanes + c, load<T, P>(first + r * width + c), P);
    }
  });
  return {copies - range.first * lanes, width, lanes};
}

/// Block `block` of rows, (K - 1) P < width <= K P, to `out` [rows of the block, width].
template <class T, class Column, int P, int K>
void gather_sorted_block(const LengthSortedView<T, Column>& a, const NarrowRows<T>& in, T* out, bool accumulate,
                         std::int64_t block, std::int64_t end) {
  const std::int64_t width = in.width, stride = in.stride;
  const int last_lanes = static_cast<int>(width - (K - 1) * P);
  const T* const first = in.values + a.bases[block] * stride;
  const auto add = [&](std::int64_t k, Lanes<T, P>(&sum)[K]) __attribute__((always_inline)) {
    const T* const row = first + static_cast<std::int64_t>(a.columns[k]) * stride;
    for (int i = 0; i < K; ++i) sum[i] += a.values[k] * load<T, P>(row + i * P);
  };
  const std::int64_t begin = block * length_block_rows;
  std::int64_t k = a.offsets[begin];
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t last = a.offsets[r + 1];
    const T* const next = out + (r - begin + length_block_rows) * width;  // in the next block, in its own order
    for (int i = 0; i < K && (K == 1 || accumulate); ++i) __builtin_prefetch(next + i * P, 1);
    __builtin_prefetch(a.columns + k + prefetch_distance);
    __builtin_prefetch(a.values + k + prefetch_distance);
    Lanes<T, P> sum[K], odd[K];
    for (int i = 0; i < K; ++i) sum[i] = odd[i] = Lanes<T, P>{};
    add_in_turn(k, last, sum, odd, add);
    k = last;
    T* const to = out + a.order[r] * width;
    for (int i = 0; i < K; ++i) {
      const int lanes = i + 1 < K ? P : last_lanes;
      sum[i] += odd[i];
      if (accumulate) sum[i] += load_first<T, P>(to + i * P, lanes);
      store_first<T, P>(to + i * P, sum[i], lanes);
    }
  }
}

/// Rows [begin, end) of the product, `begin` the first row of a block and `end` that of another or the number of rows;
/// `out` [end - begin, width] is the row of `begin`. The width is one that `serves` allows.
template <class T, class Column>
void gather_sorted_rows(const LengthSortedView<T, Column>& a, const NarrowRows<T>& in, T* out, bool accumulate,
                        std::int64_t begin, std::int64_t end) {
  const std::int64_t width = in.width;
  const auto with = [&](auto lanes, auto registers) {
    constexpr int P = decltype(lanes)::value, K = decltype(registers)::value;
    for (std::int64_t row = begin; row < end; row += length_block_rows) {
      gather_sorted_block<T, Column, P, K>(a, in, out + (row - begin) * width, accumulate, row / length_block_rows,
                                           std::min(end, row + length_block_rows));
    }
  };
  if (width > most_lanes<T>)
    return with(std::integral_constant<int, most_lanes<T>>{}, std::integral_constant<int, 2>{});
  with_lanes<T>(width, [&](auto lanes) { with(lanes, std::integral_constant<int, 1>{}); });
}

/// Calls body(view, rows, range) for ranges of whole blocks, as tasks; `rows` of `in` is what they gather from.
template <class Body>
void for_sorted_ranges(const LengthSortedMatrix& sorted, const SparseMatrix& a, const Tensor& in,
                       const KernelContext& context, const Body& body) {
  with_element(sorted.values.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> rows{sorted.offsets.data<std::int64_t>(), nullptr, nullptr, sorted.rows, sorted.entries};
    const auto run = [&](auto column) {
      const LengthSortedView<T, decltype(column)> view(sorted);
      for_step_ranges(rows, a, in, length_block_rows, context,
                      [&](const StepRange& range) { body(view, rows_at_hand<T>(in, range), range); });
    };
    sorted.narrow ? run(std::uint16_t{}) : run(std::int32_t{});
  });
}

}  // namespace strobe::cpu
