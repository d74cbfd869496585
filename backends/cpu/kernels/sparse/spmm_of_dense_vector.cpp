// Sparse product of a dense layer's output with relu, computed again for every entry, and its gradients. A row of x is
// a few values in the second-level cache; the layer stays in registers, so an entry is F + 1 multiply-adds per register
// where the product with the layer's output reads one or more cached lines. Ranges of rows of one step with about equal
// work are tasks. Backward: a_rc x_cf of a row's live entries is summed first and multiplied with dy once a row, so no
// transpose is read; sums are in the element type over 128 rows, in double over a range, and ranges are added in order.
// Rows are compressed or, where the matrix is there by length, walked in that order, whose ends are not guessed wrong.
// Cost: forward 2 (F + 1) G FLOPs per entry, backward 4 F + 3 operations a column; 8 bytes of matrix (6 by length) and
// one cached row of x per entry and block of at most 64 columns.
#include <vector>

#include "backends/cpu/kernels/sparse/of_dense_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Columns [column, column + part) of the product's rows [begin, end).
template <class T, int P, int K, int F, class View>
void product_block(const View& a, const StepLayer<T>& of, std::int64_t begin, std::int64_t end, std::int64_t column,
                   std::int64_t part, T* y) {
  const LayerLanes<T, P, K, F> layer = lanes_of<P, K, F>(of, column, part);
  walk_rows<F>(
      a, of.x, begin, end,
      [&](std::int64_t r, std::int64_t place, const auto& entries, std::int64_t first, std::int64_t last)
          __attribute__((always_inline)) {
            const auto add = [&](std::int64_t k, Lanes<T, P>(&sum)[K]) __attribute__((always_inline)) {
              T inputs[F];
              entries.load(k, inputs);
              for (int i = 0; i < K; ++i) sum[i] += entries.values[k] * relu<T, P>(layer.value(inputs, i));
            };
            entries.prefetch(first);
            prefetch_block_behind<T, 1>(a, y + (place - begin) * of.width + column, of.width, K * P);
            Lanes<T, P> sum[K], odd[K];
            for (int i = 0; i < K; ++i) sum[i] = odd[i] = Lanes<T, P>{};
            add_in_turn(first, last, sum, odd, add);
            T* const out = y + (r - begin) * of.width + column;
            for (int i = 0; i < K; ++i) {
              const int lanes = static_cast<int>(std::min<std::int64_t>(P, part - i * P));
              store_first<T, P>(out + i * P, sum[i] + odd[i], lanes);
            }
          });
}

/// Adds the gradients of columns [column, column + part) over the range's rows to sums [F + 1, G].
template <class T, int P, int K, int F, bool with_bias, class View>
void gradient_block(const View& a, const StepLayer<T>& of, std::int64_t begin, std::int64_t end, std::int64_t column,
                    std::int64_t part, const T* dy, double* sums) {
  using Gradient = GradientLanes<T, P, K, F, with_bias>;
  const LayerLanes<T, P, K, F> layer = lanes_of<P, K, F>(of, column, part);
  for (std::int64_t from = begin, to_row; from < end; from = to_row) {
    to_row = end_of_block(from, end);
    Gradient block;
    walk_rows<F>(
        a, of.x, from, to_row,
        [&](std::int64_t r, std::int64_t place, const auto& entries, std::int64_t first, std::int64_t last)
            __attribute__((always_inline)) {
              prefetch_block_behind<T, 0>(a, dy + (place - begin) * of.width + column, of.width, K * P);
              const Gradient row = live_row<Gradient>(entries, layer, first, last);
              Lanes<T, P> of_row[K];
              for (int i = 0; i < K; ++i) of_row[i] = load<T, P>(dy + (r - begin) * of.width + column + i * P);
              block.add_row(row, of_row);
            });
    for (int i = 0; i < K; ++i) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, part - i * P));
      double* const to = sums + column + i * P;
      for (int f = 0; f < F; ++f) add_in_double<T, P>(to + f * of.width, block.w[f][i], lanes);
      if constexpr (with_bias) add_in_double<T, P>(to + F * of.width, block.bias[i], lanes);
    }
  }
}

}  // namespace

namespace cpu {

template <class T, class View>
void product_rows(const View& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end, T* y) {
  with_features(layer.features, [&](auto features) {
    for_columns<T, registers_of_walk<View>(4)>(
        0, layer.width, [&](std::int64_t column, std::int64_t part, auto k, auto lanes) {
          product_block<T, lanes(), k(), features()>(a, layer, begin, end, column, part, y);
        });
  });
}

template <class T, class View>
void gradient_rows(const View& a, const StepLayer<T>& layer, std::int64_t begin, std::int64_t end, const T* dy,
                   bool bias, double* sums) {
  with_features(layer.features, [&](auto features) {
    with_bool(bias, [&](auto with_bias) {
      for_columns<T, registers_of_walk<View>(registers_of_sums(features()))>(
          0, layer.width, [&](std::int64_t column, std::int64_t part, auto k, auto lanes) {
            gradient_block<T, lanes(), k(), features(), with_bias()>(a, layer, begin, end, column, part, dy, sums);
          });
    });
  });
}

#define STROBE_OF_DENSE_ROWS(View, T)                                                           \
  template void product_rows(const View&, const StepLayer<T>&, std::int64_t, std::int64_t, T*); \
  template void gradient_rows(const View&, const StepLayer<T>&, std::int64_t, std::int64_t, const T*, bool, double*);
STROBE_OF_DENSE_ROWS(CompressedView<float>, float)
STROBE_OF_DENSE_ROWS(CompressedView<double>, double)
STROBE_OF_DENSE_ROWS(SortedRows<float>, float)
STROBE_OF_DENSE_ROWS(SortedRows<double>, double)
#undef STROBE_OF_DENSE_ROWS

}  // namespace cpu

namespace {

template <bool by_length>
void run_forward(const SpmmOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<RowRange> ranges = ranges_of(compressed<T>(op.a), op.step_rows);
    with_rows<T, by_length>(op.a, [&](const auto& a) {
      run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
        const RowRange& rows = ranges[i];
        const StepLayer<T> layer(op.x, op.w, op.bias, rows.step);
        product_rows(a, layer, rows.begin, rows.end, op.y.data<T>() + rows.begin * op.y.columns());
      });
    });
  });
}

template <bool by_length>
void run_backward(const SpmmOfDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<RowRange> ranges = ranges_of(compressed<T>(op.a), op.step_rows);
    const std::int64_t width = op.dy.columns(), stride = (op.x.columns() + 1) * width;
    std::vector<double> sums(ranges.size() * static_cast<std::size_t>(stride), 0.0);
    with_rows<T, by_length>(op.a, [&](const auto& a) {
      run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
        const RowRange& rows = ranges[i];
        const StepLayer<T> layer(op.x, op.w, op.bias, rows.step);
        gradient_rows(a, layer, rows.begin, rows.end, op.dy.data<T>() + rows.begin * width, op.dbias.defined(),
                      sums.data() + i * stride);
      });
    });
    store_layer_gradients<T>(op.dw, op.accumulate_dw, op.dbias, sums, op.x.columns(),
                             [&](std::int64_t i) { return ranges[i].step; });
  });
}

template <bool by_length, class Op>
bool supports(const Op& op) {
  return walks_rows(op.x, op.activation) && (!by_length || walks_by_length(op.a, op.x, op.w.columns()));
}

const RegisterKernel<SpmmOfDense> forward{"cpu", {"vector", 10, supports<false, SpmmOfDense>, run_forward<false>}};
const RegisterKernel<SpmmOfDense> sorted{"cpu", {"length_sorted", 15, supports<true, SpmmOfDense>, run_forward<true>}};
const RegisterKernel<SpmmOfDenseBackward> backward{
    "cpu", {"vector", 10, supports<false, SpmmOfDenseBackward>, run_backward<false>}};
const RegisterKernel<SpmmOfDenseBackward> sorted_backward{
    "cpu", {"length_sorted", 15, supports<true, SpmmOfDenseBackward>, run_backward<true>}};

}  // namespace
}  // namespace strobe
