// Rows of the sparse product of a dense layer's output, computed again for every entry, and of its gradients: what the
// kernels on compressed rows share. Compiled once for all of them (spmm_of_dense_vector.cpp).
#pragma once

#include <vector>

#include "backends/cpu/kernels/gather.hpp"
#include "backends/cpu/kernels/layer_lanes.hpp"
#include "backends/operations_fused.hpp"

namespace strobe::cpu {

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

/// The layer of one step: x [C, F], w [F, G] and bias [G] or null.
template <class T>
struct StepLayer {
  const T *x, *w, *bias;
  std::int64_t features, width;
  bool with_relu;

  /// Of step `step` of the weights w [steps * F, G].
  StepLayer(const Tensor& inputs, const Tensor& weights, const Tensor& offsets, Activation activation,
            std::int64_t step)
      : x(inputs.data<T>()),
        w(weights.data<T>() + step * inputs.columns() * weights.columns()),
        bias(offsets.defined() ? offsets.data<T>() : nullptr),
        features(inputs.columns()),
        width(weights.columns()),
        with_relu(activation == Activation::relu) {}
};

/// Columns [column, column + part) of a layer, in K registers.
template <int P, int K, int F, class T>
[[gnu::always_inline]] inline LayerLanes<T, P, K, F> lanes_of(const StepLayer<T>& layer, std::int64_t column,
                                                              std::int64_t part) {
  return {layer.w + column, layer.width, layer.bias == nullptr ? nullptr : layer.bias + column, part};
}

/// What the entries of row r add up to in the K registers from the layer's column `column` on, for a GradientLanes.
template <class Row, class T, int P, int K, int F>
[[gnu::always_inline]] inline Row live_row(const CompressedView<T>& a, const T* x, const LayerLanes<T, P, K, F>& layer,
                                           std::int64_t r) {
  const auto add = [&](std::int64_t k, Row & to) __attribute__((always_inline)) {
    T inputs[F];
    for (int f = 0; f < F; ++f) inputs[f] = x[static_cast<std::int64_t>(a.indices[k]) * F + f];
    to.add(layer, inputs, broadcast<T, P>(a.values[k]));
  };
  const std::int64_t first = a.offsets[r], last = a.offsets[r + 1];
  __builtin_prefetch(a.indices + first + prefetch_distance);
  __builtin_prefetch(a.values + first + prefetch_distance);
  Row row;
  for (std::int64_t k = first; k < last; ++k) add(k, row);
  return row;
}

/// y [end - begin, G] = rows [begin, end) of A activation(x w + bias).
template <class T>
void product_rows(const CompressedView<T>& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end, T* y);

/// sums [F + 1, G] += the gradients that rows [begin, end) give with dy [end - begin, G]: of w, and behind them where
/// `with_bias` of the bias.
template <class T>
void gradient_rows(const CompressedView<T>& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end,
                   const T* dy, bool with_bias, double* sums);

}  // namespace strobe::cpu
