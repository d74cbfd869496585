// Graph convolution with one weight per step of a dense layer's output that is computed again for every entry, and its
// gradients, on compressed rows: blocks of 128 aggregated rows are multiplied with their step's weight while they are
// in the cache, and backward the gradients of a block's aggregated rows are used where they were made. Ranges of rows
// of one step are tasks, whose sums are added in order. Cost: those of spmm_of_dense_vector.cpp and of the dense layer,
// of which aggregated rows are written once forward and read once backward where they are kept, computed again
// otherwise: from the memo, F values a row and column, where there is one, and then no entry is read.
#include <vector>

#include "backends/cpu/kernels/dense_rows.hpp"
#include "backends/cpu/kernels/layer_lanes.hpp"
#include "backends/cpu/kernels/of_dense_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Calls body(P, F, with_relu) for the rows of a memo: F registers of P lanes each.
template <class T, class Op, class Body>
void with_memo_rows(const Op& op, const Body& body) {
  with_features(op.x.columns(), [&](auto features) {
    with_lanes<T>(op.memo.columns() / 2, [&](auto lanes) {
      with_bool(op.first == Activation::relu, [&](auto with_relu) { body(lanes, features, with_relu); });
    });
  });
}

template <class T, int P, int F>
LayerLanes<T, P, 1, F> layer_lanes(const StepLayer<T>& layer) {
  return {layer.w, layer.width, nullptr, layer.width};
}

/// Rows [begin, end) of s to `sums`, from the sums over their live entries, which the memo receives.
template <class T, int P, int F, bool with_relu>
void remember_rows(const CompressedView<T>& a, const StepLayer<T>& of, std::int64_t begin, std::int64_t end, T* memo,
                   T* sums) {
  const LayerLanes<T, P, 1, F> layer = layer_lanes<T, P, F>(of);
  using Row = GradientLanes<T, P, 1, F, with_relu, false>;
  const auto add = [&](std::int64_t k, Row & to) __attribute__((always_inline)) {
    T inputs[F];
    for (int f = 0; f < F; ++f) inputs[f] = of.x[static_cast<std::int64_t>(a.indices[k]) * F + f];
    to.add(layer, inputs, broadcast<T, P>(a.values[k]));
  };
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t first = a.offsets[r];
    __builtin_prefetch(a.indices + first + prefetch_distance);
    __builtin_prefetch(a.values + first + prefetch_distance);
    Row row, odd;
    add_in_turn(first, a.offsets[r + 1], row, odd, add);
    row.add(odd);
    Lanes<T, P> sum{};
    for (int f = 0; f < F; ++f) {
      store_first<T, P>(memo + (r * F + f) * P, row.w[f][0], P);
      sum += row.w[f][0] * layer.w[f][0];
    }
    store_first<T, P>(sums + (r - begin) * of.width, sum, static_cast<int>(of.width));
  }
}

/// Rows [begin, end) of s to `sums` once more, from the memo.
template <class T, int P, int F>
void recall_rows(const StepLayer<T>& of, std::int64_t begin, std::int64_t end, const T* memo, T* sums) {
  const LayerLanes<T, P, 1, F> layer = layer_lanes<T, P, F>(of);
  for (std::int64_t r = begin; r < end; ++r) {
    __builtin_prefetch(memo + r * F * P + prefetch_distance);
    Lanes<T, P> sum{};
    for (int f = 0; f < F; ++f) sum += load<T, P>(memo + (r * F + f) * P) * layer.w[f][0];
    store_first<T, P>(sums + (r - begin) * of.width, sum, static_cast<int>(of.width));
  }
}

/// Adds the gradient of rows [begin, end), whose ds is given, to first_sums [F + 1, G].
template <class T, int P, int F, bool with_relu>
void recalled_gradient(std::int64_t width, std::int64_t begin, std::int64_t end, const T* memo, const T* ds,
                       double* first_sums) {
  using Row = GradientLanes<T, P, 1, F, with_relu, false>;
  Row block;
  for (std::int64_t r = begin; r < end; ++r) {
    Row row;
    for (int f = 0; f < F; ++f) row.w[f][0] = load<T, P>(memo + (r * F + f) * P);
    const Lanes<T, P> of_row[1] = {load<T, P>(ds + (r - begin) * width)};
    block.add_row(row, of_row);
  }
  for (int f = 0; f < F; ++f) add_in_double<T, P>(first_sums + f * width, block.w[f][0], static_cast<int>(width));
}

template <class T>
void forward_range(const StepConvolutionOfDense& op, const CompressedView<T>& a, const RowRange& rows) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), op.first, rows.step);
  const Dense second{{}, op.w.slice_rows(rows.step * inner, inner), {}, op.y, op.activation};
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += block_rows) {
    const std::int64_t end = std::min(rows.end, begin + block_rows);
    T* const sums = op.aggregated.data<T>() + begin * inner;
    if (!op.memo.defined()) product_rows(a, first, begin, end, sums);
    if (op.memo.defined()) {
      with_memo_rows<T>(op, [&](auto lanes, auto features, auto with_relu) {
        remember_rows<T, lanes(), features(), with_relu()>(a, first, begin, end, op.memo.data<T>(), sums);
      });
    }
    op.activation == Activation::relu ? dense_block<T, true>(second, sums, begin, end)
                                      : dense_block<T, false>(second, sums, begin, end);
  }
}

void run_forward(const StepConvolutionOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<RowRange> ranges = ranges_of(a, op.step_rows);
    run_tasks(context, static_cast<std::int64_t>(ranges.size()),
              [&](std::int64_t i) { forward_range<T>(op, a, ranges[static_cast<std::size_t>(i)]); });
  });
}

/// Adds the range's part of dw_first to first_sums [F + 1, G] and of dw to sums [G, H].
template <class T>
void backward_range_of(const StepConvolutionOfDenseBackward& op, const CompressedView<T>& a, const RowRange& rows,
                       double* first_sums, double* sums) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), op.first, rows.step);
  DenseBackward second;
  second.x = op.aggregated, second.y = op.y, second.dy = op.dy;
  second.w = second.dw = op.w.slice_rows(rows.step * inner, inner);  // dw: it is wanted; sums take it
  second.activation = op.activation;
  Scratch<T> turned = transposed<T>(second.w);
  BackwardRange<T> range{second, turned.data(), sums,
                         std::vector<T>(static_cast<std::size_t>(block_rows * op.w.columns() + most_lanes<T>), T{0})};
  T* const ds = line_buffer<T>(block_rows * inner + most_lanes<T>);
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += block_rows) {
    const std::int64_t end = std::min(rows.end, begin + block_rows), count = end - begin;
    T* const aggregated = op.aggregated.data<T>() + begin * inner;
    if (op.memo.defined()) {
      with_memo_rows<T>(op, [&](auto lanes, auto features, auto) {
        recall_rows<T, lanes(), features()>(first, begin, end, op.memo.data<T>(), aggregated);
      });
    } else if (!op.kept) {
      product_rows(a, first, begin, end, aggregated);
    }
    const T* dz = block_dz(range, begin, count);
    if (op.kept) prefetch_next(op.aggregated, begin, count);
    add_block_sums(range, aggregated, dz, count);
    multiply_back(range, dz, count, ds);
    if (!op.memo.defined()) gradient_rows(a, first, begin, end, ds, false, first_sums);
    if (op.memo.defined()) {
      with_memo_rows<T>(op, [&](auto lanes, auto features, auto with_relu) {
        recalled_gradient<T, lanes(), features(), with_relu()>(inner, begin, end, op.memo.data<T>(), ds, first_sums);
      });
    }
  }
}

void run_backward(const StepConvolutionOfDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<RowRange> ranges = ranges_of(a, op.step_rows);
    const std::int64_t inner = op.aggregated.columns(), width = op.w.columns();
    const std::int64_t first_stride = (op.x.columns() + 1) * inner, stride = (inner + 1) * width;
    std::vector<double> first_sums(ranges.size() * static_cast<std::size_t>(first_stride), 0.0);
    std::vector<double> sums(ranges.size() * static_cast<std::size_t>(stride), 0.0);  // no bias: the last rows stay 0
    run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
      backward_range_of<T>(op, a, ranges[static_cast<std::size_t>(i)], first_sums.data() + i * first_stride,
                           sums.data() + i * stride);
    });
    const auto step_of = [&](std::int64_t i) { return ranges[static_cast<std::size_t>(i)].step; };
    store_layer_gradients<T>(op.dw_first, op.accumulate_dw_first, Tensor(), first_sums, op.x.columns(), step_of);
    store_layer_gradients<T>(op.dw, op.accumulate_dw, Tensor(), sums, inner, step_of);
  });
}

template <class Op>
bool supports(const Op& op) {
  return op.x.columns() >= 1 && op.x.columns() <= SpmmOfDense::most_features;
}

const RegisterKernel<StepConvolutionOfDense> forward{Numerics::cpu,
                                                     {"vector", 10, supports<StepConvolutionOfDense>, run_forward}};
const RegisterKernel<StepConvolutionOfDenseBackward> backward{
    Numerics::cpu, {"vector", 10, supports<StepConvolutionOfDenseBackward>, run_backward}};

}  // namespace
}  // namespace strobe
