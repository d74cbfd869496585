// A dense layer of few inputs, with relu, on a matrix stored two steps at a time (paired_rows.hpp): what the kernels
// share that compute its output again for every entry. The columns of both steps alternate in the registers of
// layer_lanes.hpp, and the inputs of both steps lie next to each other in a buffer of 2 F values a vertex, so one
// index, one cached line and one multiply-add per register serve both steps.
#pragma once

#include <vector>

#include "backends/cpu/kernels/sparse/layer_lanes.hpp"
#include "backends/cpu/kernels/sparse/paired_rows.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cpu {

inline constexpr int most_of_a_row = 3;  // registers of both steps' columns

/// Whether the matrix is there in pairs of these steps and the layer from x to `width` columns fits the registers.
inline bool fits_pairs(const std::shared_ptr<const PairedMatrix>& a, const Tensor& x, std::int64_t width,
                       const Tensor& step_rows) {
  const std::int64_t lanes = x.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return a != nullptr && a->values.type() == x.type() && x.columns() >= 1 &&
         x.columns() <= SpmmOfDense::most_features && width >= 1 && 2 * width <= most_of_a_row * lanes &&
         (!step_rows.defined() || step_rows.rows() == a->steps + 1);
}

/// Values of both steps, row by row, alternating: to [rows][2 width].
template <class T>
void alternate(const T* first, const T* second, std::int64_t rows, std::int64_t width, T* to) {
  for (std::int64_t i = 0; i < rows * width; ++i) {
    to[2 * i] = first[i];
    to[2 * i + 1] = second == nullptr ? T{0} : second[i];
  }
}

/// The layers of both steps of a pair, columns alternating, and their inputs.
template <class T>
struct PairLayer {
  std::vector<T> w, bias;  // [F, 2 G], [2 G]
  std::int64_t width;      // 2 G
  const T* x;              // [step_rows, 2 F], alternating

  /// The layer of pair `p`: `weights` [F, G], or [T * F, G] for all steps; `offsets` [1, G] or undefined. With
  /// `with_inputs` the inputs are put into this thread's line_buffer.
  PairLayer(const PairedMatrix& a, const Tensor& inputs, const Tensor& weights, const Tensor& offsets, bool by_step,
            std::int64_t p, bool with_inputs = true)
      : width(2 * weights.columns()), x(nullptr) {
    const std::int64_t features = inputs.columns(), one = features * weights.columns();
    const bool two = 2 * p + 1 < a.steps;
    const T* first = weights.data<T>() + (by_step ? 2 * p * one : 0);
    w.resize(2 * one + most_lanes<T>);
    alternate(first, by_step && two ? first + one : first, features, weights.columns(), w.data());
    bias.resize(width + most_lanes<T>);
    if (offsets.defined()) alternate(offsets.data<T>(), offsets.data<T>(), 1, weights.columns(), bias.data());
    if (!with_inputs) return;
    const StepPair<const T> rows(a, inputs.data<T>(), features, p);
    T* lines = line_buffer<T>(a.step_rows * 2 * features);
    alternate(rows.first, rows.second, a.step_rows, features, lines);
    x = lines;
  }
};

/// Calls body(F, P, K) of a layer from `inner` to `width` columns: inputs, and K whole registers of 2 P lanes. Half a
/// register would take as many instructions as a whole one.
template <class T, class Body>
void with_shape(std::int64_t inner, std::int64_t width, const Body& body) {
  constexpr std::integral_constant<int, most_lanes<T> / 2> half;
  with_features(inner, [&](auto features) {
    if (width > 2 * half()) {
      body(features, half, std::integral_constant<int, 3>{});
    } else if (width > half()) {
      body(features, half, std::integral_constant<int, 2>{});
    } else {
      body(features, half, std::integral_constant<int, 1>{});
    }
  });
}

/// The inputs of entry k, each a register of both steps' values alternating.
template <class T, class Column, int P, int F>
[[gnu::always_inline]] inline void load_inputs(const PairView<T, Column>& a, std::int64_t k,
                                               Lanes<T, 2 * P> (&inputs)[F]) {
  const T* line = a.side_by_side + static_cast<std::int64_t>(a.columns[k]) * 2 * F;
  for (int f = 0; f < F; ++f) inputs[f] = repeated<T, P>(line + 2 * f, std::make_integer_sequence<int, 2 * P>());
}

/// Row r, as stored, of the product: both steps' columns in K registers.
template <class T, class Column, int P, int K, int F>
[[gnu::always_inline]] inline void product_row(const PairView<T, Column>& a, const LayerLanes<T, 2 * P, K, F>& layer,
                                               std::int64_t r, Lanes<T, 2 * P> (&sum)[K]) {
  constexpr auto both = std::make_integer_sequence<int, 2 * P>();
  const auto add = [&](std::int64_t k, Lanes<T, 2 * P>(&to)[K]) __attribute__((always_inline)) {
    Lanes<T, 2 * P> inputs[F];
    load_inputs<T, Column, P, F>(a, k, inputs);
    const Lanes<T, 2 * P> value = repeated<T, P>(a.values + 2 * k, both);
    for (int i = 0; i < K; ++i) to[i] += value * relu<T, 2 * P>(layer.value(inputs, i));
  };
  prefetch_row(a, a.offsets[r]);
  Lanes<T, 2 * P> odd[K];
  for (int i = 0; i < K; ++i) sum[i] = odd[i] = Lanes<T, 2 * P>{};
  add_in_turn(a.offsets[r], a.offsets[r + 1], sum, odd, add);
  for (int i = 0; i < K; ++i) sum[i] += odd[i];
}

/// The gradient sums over the entries of row r, as stored, in both steps' columns.
template <class T, class Column, int P, int K, int F, bool with_bias>
[[gnu::always_inline]] inline GradientLanes<T, 2 * P, K, F, with_bias> gradient_row(
    const PairView<T, Column>& a, const LayerLanes<T, 2 * P, K, F>& layer, std::int64_t r) {
  using Gradient = GradientLanes<T, 2 * P, K, F, with_bias>;
  constexpr auto both = std::make_integer_sequence<int, 2 * P>();
  const auto add = [&](std::int64_t k, Gradient & to) __attribute__((always_inline)) {
    Lanes<T, 2 * P> inputs[F];
    load_inputs<T, Column, P, F>(a, k, inputs);
    to.add(layer, inputs, repeated<T, P>(a.values + 2 * k, both));
  };
  prefetch_row(a, a.offsets[r]);
  return sum_of_entries<Gradient, K>(a.offsets[r], a.offsets[r + 1], add);
}

/// Adds alternating lanes of columns [column, ...) to the sums of both steps, `stride` apart.
template <class T, int P>
void add_alternating(Lanes<T, 2 * P> v, std::int64_t column, std::int64_t width, double* sums, std::int64_t stride) {
  for (int lane = 0; lane < 2 * P && column + lane / 2 < width; ++lane)
    sums[lane % 2 * stride + column + lane / 2] += static_cast<double>(v[lane]);
}

}  // namespace strobe::cpu
