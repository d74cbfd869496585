// Graph convolution with one weight per step of a dense layer's output with relu that is computed again for every
// entry, and its gradients, on compressed rows or rows by length: blocks of 128 aggregated rows are multiplied with
// their step's weight while they are in the cache, and backward the gradients of a block's aggregated rows are used
// where they were made. Ranges of rows of one step are tasks, whose sums are added in order. Cost: those of
// where they were made. Ranges of rows of one step are tasks, whose sums are added in order. Cost: those of
// spmm_of_dense_vector.cpp and of the dense layer. Kept aggregated rows are written once forward and read once
// backward. Otherwise they are computed again: from the memo, F values a row and column, if there is one, and then no
// entry is read.
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/sparse/of_dense_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

static_assert(length_block_rows <= block_rows);  // buffers have room for block_rows

/// The memo of compressed rows: for every row F sums over its live entries, `stride` values apart.
template <class T>
struct MemoRows {
  T* values;
  std::int64_t stride;

  explicit MemoRows(const Tensor& memo) : values(memo.data<T>()), stride(memo.columns() / 2) {}
  /// Stores whole lines past the caches; end_streams() follows the last of them.
  template <int P>
  [[gnu::always_inline]] static void store(T* to, Lanes<T, P> v) {
    if constexpr (P == most_lanes<T>) {
      stream_line(to, v);
    } else {
      store_first<T, P>(to, v, P);
    }
  }
  template <int F>
  T* at(std::int64_t row, int f, std::int64_t column) const {
    return values + (row * F + f) * stride + column;
  }
};

/// Calls body(column, part, K, P, F) for blocks of K registers that cover `width` columns of a layer of `features`
/// inputs, whose weights and sums fit the registers. Layers of more than two inputs have a memo only where they are
/// narrow (StepConvolutionOfDense::may_have_memo).
template <class T, class View = CompressedView<T>, class Body>
void for_memo_columns(std::int64_t features, std::int64_t width, const Body& body) {
  constexpr int narrow = std::max(1, static_cast<int>(StepConvolutionOfDense::most_repeated) / most_lanes<T>);
  with_features(features, [&](auto inputs) {
    constexpr int most = registers_of_walk<View>(registers_of_sums(inputs()));
    for_columns<T, inputs() <= 2 ? most : std::min(most, narrow)>(
        0, width,
        [&](std::int64_t column, std::int64_t part, auto k, auto lanes) { body(column, part, k, lanes, inputs); });
  });
}

/// Columns [column, column + part) of rows [begin, end) of s to `sums`, from the sums over their live entries, which
/// the memo receives.
template <class T, int P, int K, int F, class View>
void remember_block(const View& a, const StepLayer<T>& of, std::int64_t begin, std::int64_t end, std::int64_t column,
                    std::int64_t part, const MemoRows<T>& memo, T* sums) {
  const LayerLanes<T, P, K, F> layer = lanes_of<P, K, F>(of, column, part);
  walk_rows<F>(
      a, of.x, begin, end,
      [&](std::int64_t r, std::int64_t, const auto& entries, std::int64_t first, std::int64_t last)
          __attribute__((always_inline)) {
            const auto row = live_row<GradientLanes<T, P, K, F, false>>(entries, layer, first, last);
            for (int i = 0; i < K; ++i) {
              for (int f = 0; f < F; ++f)
                memo.template store<P>(memo.template at<F>(r, f, column + i * P), row.w[f][i]);
              const int lanes = static_cast<int>(std::min<std::int64_t>(P, part - i * P));
              store_first<T, P>(sums + (r - begin) * of.width + column + i * P, row.product(layer, i), lanes);
            }
          });
}

/// Rows [begin, end) of s to `sums`; the memo receives what they are made of.
template <class T, class View>
void remember_rows(const View& a, const StepLayer<T>& of, std::int64_t begin, std::int64_t end, const MemoRows<T>& memo,
                   T* sums) {
  for_memo_columns<T, View>(of.features, of.width, [&](auto column, auto part, auto k, auto lanes, auto features) {
    remember_block<T, lanes(), k(), features()>(a, of, begin, end, column, part, memo, sums);
  });
}

/// Rows [begin, end) of s to `sums` once more, from the memo.
template <class T>
void recall_rows(const StepLayer<T>& of, std::int64_t begin, std::int64_t end, const MemoRows<T>& memo, T* sums) {
  for_memo_columns<T>(of.features, of.width, [&](auto column, auto part, auto k, auto lanes, auto features) {
    constexpr int P = lanes(), K = k(), F = features();
    const LayerLanes<T, P, K, F> layer = lanes_of<P, K, F>(of, column, part);
    for (std::int64_t r = begin; r < end; ++r) {
      for (int i = 0; i < K; ++i) {
        Lanes<T, P> sum{};
        for (int f = 0; f < F; ++f) {
          const T* const from = memo.template at<F>(r, f, column + i * P);
          __builtin_prefetch(from + prefetch_distance);
          sum += load<T, P>(from) * layer.w[f][i];
        }
        const int valid = static_cast<int>(std::min<std::int64_t>(P, part - i * P));
        store_first<T, P>(sums + (r - begin) * of.width + column + i * P, sum, valid);
      }
    }
  });
}

/// Adds the gradient of rows [begin, end), whose ds is given, to first_sums [F + 1, G].
template <class T>
void recalled_gradient(const StepLayer<T>& of, std::int64_t begin, std::int64_t end, const MemoRows<T>& memo,
                       const T* ds, double* first_sums) {
  for_memo_columns<T>(of.features, of.width, [&](auto column, auto part, auto k, auto lanes, auto features) {
    constexpr int P = lanes(), K = k(), F = features();
    Lanes<T, P> block[F][K] = {};
    for (std::int64_t r = begin; r < end; ++r) {
      for (int i = 0; i < K; ++i) {
        const Lanes<T, P> of_row = load<T, P>(ds + (r - begin) * of.width + column + i * P);
        for (int f = 0; f < F; ++f) block[f][i] += load<T, P>(memo.template at<F>(r, f, column + i * P)) * of_row;
      }
    }
    for (int i = 0; i < K; ++i) {
      const int valid = static_cast<int>(std::min<std::int64_t>(P, part - i * P));
      for (int f = 0; f < F; ++f) add_in_double<T, P>(first_sums + f * of.width + column + i * P, block[f][i], valid);
    }
  });
}

template <class T, class View>
void forward_range(const StepConvolutionOfDense& op, const View& a, const RowRange& rows) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), rows.step);
  const Dense second{{}, op.w.slice_rows(rows.step * inner, inner), {}, op.y, op.activation};
  for (std::int64_t begin = rows.begin, end; begin < rows.end; begin = end) {
    end = end_of_block(begin, rows.end);
    T* sums = op.aggregated.data<T>() + begin * inner;
    if (op.memo.defined()) {
      sums = line_buffer<T>(block_rows * inner + most_lanes<T>);
      remember_rows(a, first, begin, end, MemoRows<T>(op.memo), sums);
    } else {
      product_rows(a, first, begin, end, sums);
    }
    dense_block<T>(second, sums, begin, end);
  }
  if (op.memo.defined()) end_streams();
}

template <bool by_length>
void run_forward(const StepConvolutionOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<RowRange> ranges = ranges_of(compressed<T>(op.a), op.step_rows);
    with_rows<T, by_length>(op.a, [&](const auto& a) {
      run_tasks(context, static_cast<std::int64_t>(ranges.size()),
                [&](std::int64_t i) { forward_range<T>(op, a, ranges[i]); });
    });
  });
}

/// Adds the range's part of dw_first to first_sums [F + 1, G] and of dw to sums [G, H].
template <class T, class View>
void backward_range_of(const StepConvolutionOfDenseBackward& op, const View& a, const RowRange& rows,
                       double* first_sums, double* sums) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), rows.step);
  DenseBackward second;
  second.x = op.aggregated, second.y = op.y, second.dy = op.dy;
  second.w = second.dw = op.w.slice_rows(rows.step * inner, inner);  // dw: it is wanted; sums take it
  second.activation = op.activation;
  Scratch<T> turned = transposed<T>(second.w);
  BackwardRange<T> range{second, turned.data(), sums,
                         std::vector<T>(block_rows * op.w.columns() + most_lanes<T>, T{0})};
  T* const ds = line_buffer<T>(2 * (block_rows * inner + most_lanes<T>));
  T* const recalled = ds + block_rows * inner + most_lanes<T>;
  for (std::int64_t begin = rows.begin, end; begin < rows.end; begin = end) {
    end = end_of_block(begin, rows.end);
    const std::int64_t count = end - begin;
    T* const aggregated = op.memo.defined() ? recalled : op.aggregated.data<T>() + begin * inner;
    if (op.memo.defined()) {
      recall_rows(first, begin, end, MemoRows<T>(op.memo), aggregated);
    } else if (!op.kept) {
      product_rows(a, first, begin, end, aggregated);
    }
    const T* dz = block_dz(range, begin, count);
    if (op.kept) prefetch_next(op.aggregated, begin, count);
    add_block_sums(range, aggregated, dz, count);
    multiply_back(range, dz, count, ds);
    if (op.memo.defined()) {
      recalled_gradient(first, begin, end, MemoRows<T>(op.memo), ds, first_sums);
    } else {
      gradient_rows(a, first, begin, end, ds, false, first_sums);
    }
  }
}

template <bool by_length>
void run_backward(const StepConvolutionOfDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<RowRange> ranges = ranges_of(compressed<T>(op.a), op.step_rows);
    const std::int64_t inner = op.aggregated.columns(), width = op.w.columns();
    const std::int64_t first_stride = (op.x.columns() + 1) * inner, stride = (inner + 1) * width;
    std::vector<double> first_sums(ranges.size() * static_cast<std::size_t>(first_stride), 0.0);
    std::vector<double> sums(ranges.size() * static_cast<std::size_t>(stride), 0.0);  // no bias: the last rows stay 0
    with_rows<T, by_length>(op.a, [&](const auto& a) {
      run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
        backward_range_of<T>(op, a, ranges[i], first_sums.data() + i * first_stride, sums.data() + i * stride);
      });
    });
    const auto step_of = [&](std::int64_t i) { return ranges[i].step; };
    store_layer_gradients<T>(op.dw_first, op.accumulate_dw_first, Tensor(), first_sums, op.x.columns(), step_of);
    store_layer_gradients<T>(op.dw, op.accumulate_dw, Tensor(), sums, inner, step_of);
  });
}

template <bool by_length, class Op>
bool supports(const Op& op) {
  return walks_rows(op.x, op.first) && (!by_length || walks_by_length(op.a, op.x, op.w_first.columns()));
}

const RegisterKernel<StepConvolutionOfDense> forward{
    "cpu", {"vector", 10, supports<false, StepConvolutionOfDense>, run_forward<false>}};
const RegisterKernel<StepConvolutionOfDense> sorted{
    "cpu", {"length_sorted", 15, supports<true, StepConvolutionOfDense>, run_forward<true>}};
const RegisterKernel<StepConvolutionOfDenseBackward> backward{
    "cpu", {"vector", 10, supports<false, StepConvolutionOfDenseBackward>, run_backward<false>}};
const RegisterKernel<StepConvolutionOfDenseBackward> sorted_backward{
    "cpu", {"length_sorted", 15, supports<true, StepConvolutionOfDenseBackward>, run_backward<true>}};

}  // namespace
}  // namespace strobe
