// Rows of the sparse product of a dense layer's output, computed again for every entry, and of its gradients: what the
// kernels on compressed rows and on rows by length share. Compiled once for all of them (spmm_of_dense_vector.cpp).
#pragma once

#include <vector>

#include "backends/cpu/kernels/sparse/gather.hpp"
#include "backends/cpu/kernels/sparse/layer_lanes.hpp"
#include "backends/cpu/kernels/sparse/length_sorted_rows.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cpu {

/// Rows by length that these kernels walk: most graphs have columns of 16 bits.
template <class T>
using SortedRows = LengthSortedView<T, std::uint16_t>;

template <class View>
inline constexpr bool is_by_length = std::is_same_v<View, SortedRows<std::remove_cvref_t<decltype(*View::values)>>>;

/// Whether rows are served of a layer from x with `activation`: with relu, as models have them. Without it nobody would
/// compute the layer once more for every entry.
inline bool walks_rows(const Tensor& x, Activation activation) {
  return activation == Activation::relu && x.columns() >= 1 && x.columns() <= SpmmOfDense::most_features;
}

/// Whether `a` is there by length for a layer from x to `width` columns. In more than two registers the end of a row
/// counts for little, and visiting rows out of their order costs more.
inline bool walks_by_length(const SparseMatrix& a, const Tensor& x, std::int64_t width) {
  if (a.by_length == nullptr || !a.by_length->narrow || a.by_length->values.type() != x.type()) return false;
  return width <= (x.type() == ElementType::f32 ? most_sorted_width<float> : most_sorted_width<double>);
}

/// The most registers of one pass over these rows, of `most` that there may be.
template <class View>
constexpr int registers_of_walk(int most) {
  return is_by_length<View> ? std::min(2, most) : most;
}

/// Calls body(CompressedView or SortedRows) with the matrix as it is asked for.
template <class T, bool by_length, class Body>
void with_rows(const SparseMatrix& a, const Body& body) {
  if constexpr (by_length) {
    body(SortedRows<T>(*a.by_length));
  } else {
    body(compressed<T>(a));
  }
}

/// The inputs of some rows' entries: entry k has the value values[k], and reads the row of x that its column names.
template <class T, class Column, int F>
struct EntryInputs {
  const T* x;
  const Column* columns;
  const T* values;

  [[gnu::always_inline]] void load(std::int64_t k, T (&inputs)[F]) const {
    const T* const from = x + static_cast<std::int64_t>(columns[k]) * F;
    for (int f = 0; f < F; ++f) inputs[f] = from[f];
  }
  [[gnu::always_inline]] void prefetch(std::int64_t k) const {
    __builtin_prefetch(columns + k + prefetch_distance);
    __builtin_prefetch(values + k + prefetch_distance);
  }
};

/// Prefetches `values` values of the row one block after `row`. Rows of a block are visited in the order of their
/// lengths, which no hardware prefetcher follows, so each row is prefetched by itself.
template <class T, int write>
[[gnu::always_inline]] inline void prefetch_block_behind(const CompressedView<T>&, const T*, std::int64_t, int) {}
template <class T, int write>
[[gnu::always_inline]] inline void prefetch_block_behind(const SortedRows<T>&, const T* row, std::int64_t width,
                                                         int values) {
  for (int i = 0; i < values; i += 64 / static_cast<int>(sizeof(T)))
    __builtin_prefetch(row + length_block_rows * width + i, write);
}

/// Calls body(r, place, entries, first, last) for the rows r of [begin, end), whose entries are [first, last); `place`
/// counts them as they are visited, from the same row on.
template <int F, class T, class Body>
[[gnu::always_inline]] inline void walk_rows(const CompressedView<T>& a, const T* x, std::int64_t begin,
                                             std::int64_t end, const Body& body) {
  const EntryInputs<T, std::int32_t, F> entries{x, a.indices, a.values};
  for (std::int64_t r = begin; r < end; ++r) body(r, r, entries, a.offsets[r], a.offsets[r + 1]);
}

/// The same from the shortest row of each block to the longest. Blocks are those of the matrix: a part of one is looked
/// for among all of its rows.
template <int F, class T, class Body>
[[gnu::always_inline]] inline void walk_rows(const SortedRows<T>& a, const T* x, std::int64_t begin, std::int64_t end,
                                             const Body& body) {
  for (std::int64_t first = begin / length_block_rows * length_block_rows; first < end; first += length_block_rows) {
    const EntryInputs<T, std::uint16_t, F> entries{x + std::int64_t{a.bases[first / length_block_rows]} * F, a.columns,
                                                   a.values};
    const std::int64_t last = std::min(a.rows, first + length_block_rows);
    for (std::int64_t stored = first; stored < last; ++stored) {
      const std::int64_t r = first + a.order[stored];
      if (r >= begin && r < end) body(r, stored, entries, a.offsets[stored], a.offsets[stored + 1]);
    }
  }
}

/// The end of the block of rows that `row` lies in, at most `end`.
inline std::int64_t end_of_block(std::int64_t row, std::int64_t end) {
  return std::min(end, (row / length_block_rows + 1) * length_block_rows);
}

/// Rows [begin, end) of one step.
struct RowRange {
  std::int64_t step, begin, end;
};

/// Ranges of about equal work that cover all rows, none of two steps where there are steps. Depends on shapes only.
template <class T>
std::vector<RowRange> ranges_of(const CompressedView<T>& a, const Tensor& step_rows) {
  constexpr std::int64_t most_ranges = 64, least_work = 1 << 13;
  std::vector<RowRange> ranges;
  const std::int64_t steps = step_rows.defined() ? step_rows.rows() - 1 : 1;
  for (std::int64_t t = 0; t < steps; ++t) {
    std::int64_t begin = step_rows.defined() ? step_rows.data<std::int64_t>()[t] : 0;
    const std::int64_t last = step_rows.defined() ? step_rows.data<std::int64_t>()[t + 1] : a.rows;
    std::vector<std::int64_t> ends;
    append_balanced(a, begin, last, least_work, std::max<std::int64_t>(1, most_ranges / steps), ends);
    for (const std::int64_t end : ends) {
      ranges.push_back({t, begin, end});
      begin = end;
    }
  }
  return ranges;
}

/// The layer of one step, followed by relu: x [C, F], w [F, G] and bias [G] or null.
template <class T>
struct StepLayer {
  const T *x, *w, *bias;
  std::int64_t features, width;

  /// Step `step` of the weights w [steps * F, G].
  StepLayer(const Tensor& inputs, const Tensor& weights, const Tensor& offsets, std::int64_t step)
      : x(inputs.data<T>()),
        w(weights.data<T>() + step * inputs.columns() * weights.columns()),
        bias(offsets.defined() ? offsets.data<T>() : nullptr),
        features(inputs.columns()),
        width(weights.columns()) {}
};

/// Columns [column, column + part) of a layer, in K registers.
template <int P, int K, int F, class T>
[[gnu::always_inline]] inline LayerLanes<T, P, K, F> lanes_of(const StepLayer<T>& layer, std::int64_t column,
                                                              std::int64_t part) {
  return {layer.w + column, layer.width, layer.bias == nullptr ? nullptr : layer.bias + column, part};
}

/// The sums over the entries [first, last) of a row, for a GradientLanes.
template <class Row, class T, class Column, int P, int K, int F>
[[gnu::always_inline]] inline Row live_row(const EntryInputs<T, Column, F>& entries,
                                           const LayerLanes<T, P, K, F>& layer, std::int64_t first, std::int64_t last) {
  const auto add = [&](std::int64_t k, Row & to) __attribute__((always_inline)) {
    T inputs[F];
    entries.load(k, inputs);
    to.add(layer, inputs, broadcast<T, P>(entries.values[k]));
  };
  entries.prefetch(first);
  return sum_of_entries<Row, K>(first, last, add);
}

/// y [end - begin, G] = rows [begin, end) of A relu(x w + bias), A a CompressedView or SortedRows.
template <class T, class View>
void product_rows(const View& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end, T* y);

/// sums [F + 1, G] += the gradients from rows [begin, end) with dy [end - begin, G]: of w, followed by that of the bias
/// if `with_bias`.
template <class T, class View>
void gradient_rows(const View& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end, const T* dy,
                   bool with_bias, double* sums);

}  // namespace strobe::cpu
