// Graph convolution with one weight per step of a dense layer's output with relu that is computed again for every
// entry, on a matrix stored two steps at a time (pair_layer.hpp), and its gradients, for layers of at most half a
// register. A row of both steps stays in registers from its entries through the second layer. Its sums over live
// entries give the aggregated row and the first layer's gradient: with a memo they are made forward and stored, as the
// rows lie, and backward no entry is read; without one they are made again. Pairs are tasks; sums are in the element
// type over 128 rows and in double over a step. Cost: that of spmm_of_dense_paired.cpp and 4 G H FLOPs a row forward, 8
// G H backward; forward the matrix and x are read, y and the memo written once; backward the memo (or the matrix and
// x), y and dy are read once.
#include <vector>

#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/sparse/pair_layer.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// A register of both steps' columns, alternating.
template <class T, int P>
using Both = Lanes<T, 2 * P>;

/// The second layer of both steps of a pair, columns alternating: row i of `w` or of its transpose.
template <class T, int P>
struct SecondLayer {
  Both<T, P> rows[P] = {};

  /// w [T * G, H]; with `turned` row i is column i of w.
  SecondLayer(const Tensor& w, std::int64_t inner, std::int64_t steps, std::int64_t p, bool turned) {
    const std::int64_t width = w.columns();
    for (std::int64_t s = 0; s < 2 && 2 * p + s < steps; ++s) {
      const T* from = w.data<T>() + (2 * p + s) * inner * width;
      for (std::int64_t g = 0; g < inner; ++g)
        for (std::int64_t h = 0; h < width; ++h) rows[turned ? h : g][2 * (turned ? g : h) + s] = from[g * width + h];
    }
  }

  /// Sum over i of column i of `values`, both steps', times row i.
  [[gnu::always_inline]] Both<T, P> multiply(Both<T, P> values) const {
    alignas(64) T line[2 * P];
    std::memcpy(line, &values, sizeof(values));
    Both<T, P> sums[2] = {};
#pragma GCC unroll 8
    for (int i = 0; i < P; ++i)  // entries after the last are zeros
      sums[i % 2] += repeated<T, P>(line + 2 * i, std::make_integer_sequence<int, 2 * P>()) * rows[i];
    return sums[0] + sums[1];
  }
};

/// Rows of both steps of a tensor, interleaved; `width` columns of them.
template <class T, int P>
struct BothRows {
  using Value = std::remove_const_t<T>;
  StepPair<T> steps;
  std::int64_t width;

  [[gnu::always_inline]] Both<Value, P> read(std::int64_t row) const {
    const int lanes = static_cast<int>(width);
    const Lanes<Value, P> first = load_row<Value, P>(steps.first + row * width, lanes);
    const Lanes<Value, P> second =
        steps.second == nullptr ? Lanes<Value, P>{} : load_row<Value, P>(steps.second + row * width, lanes);
    return interleaved<Value, P>(first, second, std::make_integer_sequence<int, 2 * P>());
  }
  [[gnu::always_inline]] void write(std::int64_t row, Both<Value, P> v) const {
    constexpr auto half = std::make_integer_sequence<int, P>();
    const int lanes = static_cast<int>(width);
    store_first<Value, P>(steps.first + row * width, every_second<Value, P, 0>(v, half), lanes);
    if (steps.second != nullptr)
      store_first<Value, P>(steps.second + row * width, every_second<Value, P, 1>(v, half), lanes);
  }
  [[gnu::always_inline]] void prefetch(std::int64_t row) const {
    prefetch_next_block(steps.first, steps.second, width, row);
  }
};

/// One pair: the first layer in registers, and its part of the matrix.
template <class T, class Column, int P, int F>
struct PairWork {
  PairLayer<T> pair;
  LayerLanes<T, 2 * P, 1, F> layer;
  PairView<T, Column> view;

  template <class Op>
  PairWork(const Op& op, std::int64_t p, bool with_inputs)
      : pair(*op.a.paired, op.x, op.w_first, Tensor(), true, p, with_inputs),
        layer(pair.w.data(), pair.width, pair.bias.data(), pair.width),
        view(pair_view<T, Column>(*op.a.paired, p, pair.x)) {}
};

/// The memo of one pair: F registers for every row, as the rows are stored.
template <class T, int P, int F>
struct Memo {
  T* rows;

  Memo(const Tensor& memo, std::int64_t step_rows, std::int64_t p)
      : rows(memo.defined() ? memo.data<T>() + p * step_rows * F * 2 * P : nullptr) {}

  template <class Row>
  [[gnu::always_inline]] void write(std::int64_t r, const Row& row) const {
    for (int f = 0; f < F; ++f) {
      T* const to = rows + (r * F + f) * 2 * P;
      if constexpr (2 * P == most_lanes<T>) {
        stream_line(to, row.w[f][0]);
      } else {
        store_first<T, 2 * P>(to, row.w[f][0], 2 * P);
      }
    }
  }
  template <class Row>
  [[gnu::always_inline]] Row read(std::int64_t r) const {
    Row row;
    const T* const from = rows + r * F * 2 * P;
    __builtin_prefetch(from + prefetch_distance);
    if constexpr (F > 1) __builtin_prefetch(from + prefetch_distance + most_lanes<T>);
    for (int f = 0; f < F; ++f) row.w[f][0] = load<T, 2 * P>(from + f * 2 * P);
    return row;
  }
};

/// The row of the product that the sums over its live entries give.
template <class T, int P, int F, class Row>
[[gnu::always_inline]] inline Both<T, P> aggregated_row(const Row& row, const LayerLanes<T, 2 * P, 1, F>& layer) {
  Both<T, P> sum{};
  for (int f = 0; f < F; ++f) sum += row.w[f][0] * layer.w[f][0];
  return sum;
}

template <class T, class Column, int P, int F, bool with_memo>
[[gnu::noinline]] void forward_pair(const StepConvolutionOfDense& op, std::int64_t p) {
  const PairedMatrix& a = *op.a.paired;
  const PairWork<T, Column, P, F> work(op, p, true);
  const LayerLanes<T, 2 * P, 1, F> layer = work.layer;
  const PairView<T, Column> view = work.view;
  const SecondLayer<T, P> second(op.w, op.aggregated.columns(), a.steps, p, false);
  const BothRows<T, P> y{{a, op.y.data<T>(), op.y.columns(), p}, op.y.columns()};
  const bool last_relu = op.activation == Activation::relu;
  const Memo<T, P, F> memo(op.memo, a.step_rows, p);
  for (std::int64_t r = 0; r < a.step_rows; ++r) {
    y.prefetch(r);
    Both<T, P> sum[1];
    if constexpr (with_memo) {
      const auto live = gradient_row<T, Column, P, 1, F, false>(view, layer, r);
      memo.write(r, live);
      sum[0] = aggregated_row<T, P, F>(live, layer);
    } else {
      product_row<T, Column, P, 1, F>(view, layer, r, sum);
    }
    const std::int64_t row = view.row(r);
    const Both<T, P> z = second.multiply(sum[0]);
    y.write(row, last_relu ? relu<T, 2 * P>(z) : z);
  }
  if constexpr (with_memo) end_streams();
}

/// dw[g] += column g of `aggregated`, both steps', times dz.
template <class T, int P>
[[gnu::always_inline]] inline void add_products(Both<T, P> aggregated, Both<T, P> dz, Both<T, P> (&dw)[P]) {
  alignas(64) T line[2 * P];
  std::memcpy(line, &aggregated, sizeof(aggregated));
#pragma GCC unroll 8
  for (int g = 0; g < P; ++g)  // entries after the last are zeros
    dw[g] += repeated<T, P>(line + 2 * g, std::make_integer_sequence<int, 2 * P>()) * dz;
}

/// Adds the gradients of pair `p`: of w_first to first_sums [steps][F + 1, G], of w to sums [steps][G, H].
template <class T, class Column, int P, int F, bool with_memo>
[[gnu::noinline]] void backward_pair(const StepConvolutionOfDenseBackward& op, std::int64_t p, double* first_sums,
                                     double* sums) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t inner = op.aggregated.columns(), width = op.w.columns();
  const PairWork<T, Column, P, F> work(op, p, !with_memo);
  const LayerLanes<T, 2 * P, 1, F> layer = work.layer;
  const PairView<T, Column> view = work.view;
  const SecondLayer<T, P> turned(op.w, inner, a.steps, p, true);
  const BothRows<const T, P> dy{{a, op.dy.data<T>(), width, p}, width};
  const bool last_relu = op.activation == Activation::relu;
  const BothRows<const T, P> y = last_relu ? BothRows<const T, P>{{a, op.y.data<T>(), width, p}, width} : dy;
  using Gradient = GradientLanes<T, 2 * P, 1, F, false>;
  const Memo<T, P, F> memo(op.memo, a.step_rows, p);
  const auto row_of = [&](std::int64_t r) __attribute__((always_inline)) {
    if constexpr (with_memo) return memo.template read<Gradient>(r);
    if constexpr (!with_memo) return gradient_row<T, Column, P, 1, F, false>(view, layer, r);
  };
  for (std::int64_t begin = 0; begin < a.step_rows; begin += length_block_rows) {
    const std::int64_t end = std::min(a.step_rows, begin + length_block_rows);
    Gradient block;
    Both<T, P> dw[P] = {};
    for (std::int64_t r = begin; r < end; ++r) {
      dy.prefetch(r);
      if (last_relu) y.prefetch(r);
      const Gradient row = row_of(r);
      const std::int64_t at = view.row(r);
      Both<T, P> dz = dy.read(at);
      if (last_relu) dz = y.read(at) > Both<T, P>{} ? dz : Both<T, P>{};
      add_products<T, P>(aggregated_row<T, P, F>(row, layer), dz, dw);
      const Both<T, P> ds[1] = {turned.multiply(dz)};
      block.add_row(row, ds);
    }
    for (int f = 0; f < F; ++f)
      add_alternating<T, P>(block.w[f][0], 0, inner, first_sums + (2 * p * (F + 1) + f) * inner, (F + 1) * inner);
    for (std::int64_t g = 0; g < inner; ++g)
      add_alternating<T, P>(dw[g], 0, width, sums + (2 * p * inner + g) * width, inner * width);
  }
}

/// Calls body(F, P, with_memo) for both layers' shapes.
template <class T, class Op, class Body>
void with_layers(const Op& op, const Body& body) {
  constexpr int half = most_lanes<T> / 2, least = std::min(4, half);  // narrower ones would take as many instructions
  const std::int64_t width = std::max(op.aggregated.columns(), op.w.columns());
  with_features(op.x.columns(), [&](auto features) {
    with_bool(op.memo.defined(), [&](auto with_memo) {
      if (width <= least) return body(features, std::integral_constant<int, least>{}, with_memo);
      if constexpr (half > least) body(features, std::integral_constant<int, half>{}, with_memo);
    });
  });
}

void run_forward(const StepConvolutionOfDense& op, KernelContext& context) {
  with_types(*op.a.paired, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    with_layers<T>(op, [&](auto features, auto half, auto with_memo) {
      run_tasks(context, op.a.paired->pairs(),
                [&](std::int64_t p) { forward_pair<T, Column, half(), features(), with_memo()>(op, p); });
    });
  });
}

void run_backward(const StepConvolutionOfDenseBackward& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t stride = (op.x.columns() + 1) * op.aggregated.columns(), weights = op.w.elements() / a.steps;
  // A last step without a partner has an unused place for one.
  std::vector<double> first_sums(2 * a.pairs() * stride, 0.0);
  std::vector<double> sums(2 * a.pairs() * weights, 0.0);
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    with_layers<T>(op, [&](auto features, auto half, auto with_memo) {
      run_tasks(context, a.pairs(), [&](std::int64_t p) {
        backward_pair<T, Column, half(), features(), with_memo()>(op, p, first_sums.data(), sums.data());
      });
    });
    first_sums.resize(a.steps * stride);
    store_layer_gradients<T>(op.dw_first, op.accumulate_dw_first, Tensor(), first_sums, op.x.columns(),
                             [](std::int64_t step) { return step; });
    store_sums<T>(op.dw, op.accumulate_dw, sums);
  });
}

/// `kept` says that s goes through memory.
template <class Op>
bool fits(const Op& op, bool kept) {
  const std::int64_t lanes = op.x.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return !kept && op.first == Activation::relu &&
         fits_pairs(op.a.paired, op.x, op.aggregated.columns(), op.step_rows) && op.w.columns() >= 1 &&
         2 * std::max(op.aggregated.columns(), op.w.columns()) <= lanes;
}

const RegisterKernel<StepConvolutionOfDense> forward{
    "cpu", {"paired", 20, [](const StepConvolutionOfDense& op) { return fits(op, op.keep); }, run_forward}};
const RegisterKernel<StepConvolutionOfDenseBackward> backward{
    "cpu", {"paired", 20, [](const StepConvolutionOfDenseBackward& op) { return fits(op, op.kept); }, run_backward}};

}  // namespace
}  // namespace strobe
