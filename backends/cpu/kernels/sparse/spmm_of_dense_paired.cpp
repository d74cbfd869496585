// Sparse product of a dense layer's output with relu, computed again for every entry, on a matrix stored two steps at a
// time (pair_layer.hpp), and its gradients. Pairs are tasks; backward, sums are in the element type over 128 rows and
// in double over a step, and steps are added in order. Cost per entry of the union: forward 4 (F + 1) G FLOPs, backward
// about twice that; 10 bytes of matrix (12 above 65,536 vertices) and 2 F cached values.
#include <vector>

#include "backends/cpu/kernels/sparse/pair_layer.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// The product's rows of both steps of pair `p`.
template <class T, class Column, int P, int K, int F>
[[gnu::noinline]] void product_of_pair(const SpmmOfDense& op, std::int64_t p) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t width = op.y.columns();
  const PairLayer<T> pair(a, op.x, op.w, op.bias, op.step_rows.defined(), p);
  const LayerLanes<T, 2 * P, K, F> layer(pair.w.data(), pair.width, pair.bias.data(), pair.width);
  const PairView<T, Column> view = pair_view<T, Column>(a, p, pair.x);
  const StepPair<T> y(a, op.y.data<T>(), width, p);
  constexpr auto half = std::make_integer_sequence<int, P>();
  for (std::int64_t r = 0; r < a.step_rows; ++r) {
    prefetch_next_block(y.first, y.second, width, r);
    Lanes<T, 2 * P> sum[K];
    product_row<T, Column, P, K, F>(view, layer, r, sum);
    for (int i = 0; i < K; ++i) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - i * P));
      const std::int64_t at = view.row(r) * width + i * P;
      store_first<T, P>(y.first + at, every_second<T, P, 0>(sum[i], half), lanes);
      if (y.second != nullptr) store_first<T, P>(y.second + at, every_second<T, P, 1>(sum[i], half), lanes);
    }
  }
}

void run_forward(const SpmmOfDense& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    with_shape<T>(op.x.columns(), op.y.columns(), [&](auto features, auto half, auto k) {
      run_tasks(context, a.pairs(),
                [&](std::int64_t p) { product_of_pair<T, Column, half(), k(), features()>(op, p); });
    });
  });
}

/// Adds the gradients of pair `p` to sums [steps][F + 1, G].
template <class T, class Column, int P, int K, int F, bool with_bias>
[[gnu::noinline]] void gradient_of_pair(const SpmmOfDenseBackward& op, std::int64_t p, double* sums) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t width = op.dy.columns(), stride = (F + 1) * width;
  const PairLayer<T> pair(a, op.x, op.w, op.bias, op.step_rows.defined(), p);
  const LayerLanes<T, 2 * P, K, F> layer(pair.w.data(), pair.width, pair.bias.data(), pair.width);
  const PairView<T, Column> view = pair_view<T, Column>(a, p, pair.x);
  const StepPair<const T> dy(a, op.dy.data<T>(), width, p);
  constexpr auto both = std::make_integer_sequence<int, 2 * P>();
  using Gradient = GradientLanes<T, 2 * P, K, F, with_bias>;
  double* const to = sums + 2 * p * stride;
  for (std::int64_t begin = 0; begin < a.step_rows; begin += length_block_rows) {
    const std::int64_t end = std::min(a.step_rows, begin + length_block_rows);
    Gradient block;
    for (std::int64_t r = begin; r < end; ++r) {
      prefetch_next_block(dy.first, dy.second, width, r);
      const Gradient row = gradient_row<T, Column, P, K, F, with_bias>(view, layer, r);
      Lanes<T, 2 * P> of_row[K];
      for (int i = 0; i < K; ++i) {
        const std::int64_t at = view.row(r) * width + i * P;
        const Lanes<T, P> second = dy.second == nullptr ? Lanes<T, P>{} : load<T, P>(dy.second + at);
        of_row[i] = interleaved<T, P>(load<T, P>(dy.first + at), second, both);
      }
      block.add_row(row, of_row);
    }
    for (int i = 0; i < K; ++i) {
      for (int f = 0; f < F; ++f) add_alternating<T, P>(block.w[f][i], i * P, width, to + f * width, stride);
      if constexpr (with_bias) add_alternating<T, P>(block.bias[i], i * P, width, to + F * width, stride);
    }
  }
}

void run_backward(const SpmmOfDenseBackward& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t stride = (op.x.columns() + 1) * op.dy.columns();
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    std::vector<double> sums(2 * a.pairs() * stride, 0.0);
    with_shape<T>(op.x.columns(), op.dy.columns(), [&](auto features, auto half, auto k) {
      with_bool(op.dbias.defined(), [&](auto with_bias) {
        run_tasks(context, a.pairs(), [&](std::int64_t p) {
          gradient_of_pair<T, Column, half(), k(), features(), with_bias()>(op, p, sums.data());
        });
      });
    });
    sums.resize(a.steps * stride);
    const bool by_step = op.step_rows.defined();
    store_layer_gradients<T>(op.dw, op.accumulate_dw, op.dbias, sums, op.x.columns(),
                             [&](std::int64_t step) { return by_step ? step : 0; });
  });
}

template <class Op>
bool supports(const Op& op) {
  return op.activation == Activation::relu && fits_pairs(op.a.paired, op.x, op.w.columns(), op.step_rows);
}

const RegisterKernel<SpmmOfDense> forward{"cpu", {"paired", 20, supports<SpmmOfDense>, run_forward}};
const RegisterKernel<SpmmOfDenseBackward> backward{"cpu", {"paired", 20, supports<SpmmOfDenseBackward>, run_backward}};

}  // namespace
}  // namespace strobe
