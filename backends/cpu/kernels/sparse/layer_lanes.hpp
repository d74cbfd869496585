// A dense layer of few inputs held in registers, for the kernels that compute its output for every entry of a sparse
// matrix (spmm_of_dense_*.cpp): K registers of P columns, and what an entry adds to the product and to the gradients.
#pragma once

#include <vector>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/sparse/gather.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cpu {

/// Columns of the layer w [F, ...] and bias, both from the first of these columns on. Rows of w lie `stride` apart, and
/// a register's lanes after the first `width` are zeros. Without bias it is zero.
template <class T, int P, int K, int F>
struct LayerLanes {
  Lanes<T, P> w[F][K], bias[K];

  [[gnu::always_inline]] LayerLanes(const T* weights, std::int64_t stride, const T* offsets, std::int64_t width) {
    for (int i = 0; i < K; ++i) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - i * P));
      for (int f = 0; f < F; ++f) w[f][i] = load_row<T, P>(weights + f * stride + i * P, lanes);
      bias[i] = offsets == nullptr ? Lanes<T, P>{} : load_row<T, P>(offsets + i * P, lanes);
    }
  }

  /// x w + bias of register i, `x` being a broadcast value or register of each input.
  template <class X>
  [[gnu::always_inline]] Lanes<T, P> value(const X (&x)[F], int i) const {
    Lanes<T, P> z = bias[i];
    for (int f = 0; f < F; ++f) z += x[f] * w[f][i];
    return z;
  }
};

/// The sums over the entries of a row: v where z > 0, times each input (`w`) and alone (`bias`).
template <class T, int P, int K, int F, bool with_bias>
struct GradientLanes {
  Lanes<T, P> w[F][K], bias[with_bias ? K : 1];

  [[gnu::always_inline]] GradientLanes() {
    for (auto& row : w)
      for (auto& lanes : row) lanes = Lanes<T, P>{};
    for (auto& lanes : bias) lanes = Lanes<T, P>{};
  }

  template <class X>
  [[gnu::always_inline]] void add(const LayerLanes<T, P, K, F>& layer, const X (&x)[F], Lanes<T, P> value) {
    const Lanes<T, P> zero{};
    for (int i = 0; i < K; ++i) {
      const Lanes<T, P> live = layer.value(x, i) > zero ? value : zero;
      for (int f = 0; f < F; ++f) w[f][i] += live * x[f];
      if constexpr (with_bias) bias[i] += live;
    }
  }

  [[gnu::always_inline]] void add(const GradientLanes& other) {
    for (int i = 0; i < K; ++i) {
      for (int f = 0; f < F; ++f) w[f][i] += other.w[f][i];
      if constexpr (with_bias) bias[i] += other.bias[i];
    }
  }

  /// Register i of the product that the sums give with the layer.
  [[gnu::always_inline]] Lanes<T, P> product(const LayerLanes<T, P, K, F>& layer, int i) const {
    Lanes<T, P> sum{};
    if constexpr (with_bias) sum = bias[i] * layer.bias[i];
    for (int f = 0; f < F; ++f) sum += w[f][i] * layer.w[f][i];
    return sum;
  }

  /// sum += row * dy, register by register.
  [[gnu::always_inline]] void add_row(const GradientLanes& row, const Lanes<T, P> (&dy)[K]) {
    for (int i = 0; i < K; ++i) {
      for (int f = 0; f < F; ++f) w[f][i] += row.w[f][i] * dy[i];
      if constexpr (with_bias) bias[i] += row.bias[i] * dy[i];
    }
  }
};

/// The sum of add(k, sum) over the entries [first, last), for a GradientLanes of K registers of columns.
template <class Row, int K, class Add>
[[gnu::always_inline]] inline Row sum_of_entries(std::int64_t first, std::int64_t last, const Add& add) {
  Row row, odd;
  if constexpr (K == 1) {
    add_in_turn(first, last, row, odd, add);
    row.add(odd);
  } else {  // more registers hide the additions' latency by themselves
    for (std::int64_t k = first; k < last; ++k) add(k, row);
  }
  return row;
}

/// Registers of one pass over the entries, whose layer and sums stay in registers.
constexpr int registers_of_sums(int features) { return features <= 2 ? 4 : 2; }

/// dw [steps * F, G] (stored, or added to) and dbias (added to; may be undefined) from sums [ranges][F + 1, G] of
/// ranges of rows, in order; step_of(range) is the step of its weight.
template <class T, class StepOf>
void store_layer_gradients(const Tensor& target_dw, bool accumulate, const Tensor& dbias,
                           const std::vector<double>& sums, std::int64_t features, const StepOf& step_of) {
  const std::int64_t weights = features * target_dw.columns(), stride = weights + target_dw.columns();
  std::vector<double> dw(target_dw.elements(), 0.0);
  for (std::int64_t i = 0; i * stride < static_cast<std::int64_t>(sums.size()); ++i) {
    const double* from = sums.data() + i * stride;
    double* to = dw.data() + step_of(i) * weights;
    for (std::int64_t j = 0; j < weights; ++j) to[j] += from[j];
  }
  store_sums<T>(target_dw, accumulate, dw);
  add_range_sums<T>(dbias, sums, weights, stride);
}

/// Calls body(std::integral_constant<int, P>) for the last `width` columns of a layer: one value, or a register of at
/// least 16 bytes, because one of fewer takes as many instructions an entry.
template <class T, class Body>
void with_layer_lanes(std::int64_t width, const Body& body) {
  constexpr int least = 16 / sizeof(T);
  if (width == 1) return body(std::integral_constant<int, 1>{});
  if (width <= least) return body(std::integral_constant<int, least>{});
  if constexpr (2 * least < most_lanes<T>) {
    if (width <= 2 * least) return body(std::integral_constant<int, 2 * least>{});
  }
  if constexpr (least < most_lanes<T>) body(std::integral_constant<int, most_lanes<T>>{});
}

/// Calls body(first column, columns, K, P) for blocks of at most `most_k` registers that cover [0, width).
template <class T, int most_k, int K = most_k, class Body>
void for_columns(std::int64_t column, std::int64_t width, const Body& body) {
  constexpr int P = most_lanes<T>;
  if constexpr (K == 1) {
    for (; column < width; column += P) {
      const std::int64_t part = std::min<std::int64_t>(P, width - column);
      with_layer_lanes<T>(part, [&](auto lanes) { body(column, part, std::integral_constant<int, 1>{}, lanes); });
    }
  } else {
    for (; width - column > (K - 1) * P; column += K * P) {
      const std::int64_t part = std::min<std::int64_t>(K * P, width - column);
      body(column, part, std::integral_constant<int, K>{}, std::integral_constant<int, P>{});
    }
    if (column < width) for_columns<T, most_k, K - 1>(column, width, body);
  }
}

/// Calls body(std::integral_constant<int, F>) for F = features of [1, 4].
template <class Body>
[[gnu::always_inline]] inline void with_features(std::int64_t features, const Body& body) {
  if (features == 1) return body(std::integral_constant<int, 1>{});
  if (features == 2) return body(std::integral_constant<int, 2>{});
  if (features == 3) return body(std::integral_constant<int, 3>{});
  return body(std::integral_constant<int, 4>{});
}

/// Calls body(std::bool_constant) with `condition`.
template <class Body>
[[gnu::always_inline]] inline void with_bool(bool condition, const Body& body) {
  condition ? body(std::true_type{}) : body(std::false_type{});
}

}  // namespace strobe::cpu
