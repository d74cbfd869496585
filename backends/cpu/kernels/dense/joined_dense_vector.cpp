// Vector dense layer of parts side by side, for narrow layers over very many rows; joined_dense_rows.cpp has those of
// many weights. Forward, a tile of 6 or 8 rows walks the parts and keeps its sums in registers. Backward joins blocks
// of 128 rows in a buffer that stays in the cache, and goes on as the dense layer does (dense_rows.hpp); columns before
// the first and after the last part whose gradient is wanted cost nothing. dw is summed in the element type inside a
// block and in double over blocks and row ranges, which depend on the number of rows only. Cost 2 R F G FLOPs per
// product; each part read once forward and once backward, memory bound below widths of about 32.
#include <vector>

#include "backends/cpu/kernels/dense/column_parts.hpp"
#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t flops_per_task = 1 << 20;
constexpr std::int64_t most_ranges = 64;

/// The layer's arrays: the parts, w [F, G], bias [G] or null, y [R, G].
template <class T>
struct Layer {
  std::vector<Part<T>> parts;
  const T *w, *bias;
  T* y;
  std::int64_t width;
};

/// R rows by K registers of y from (row, column) on; `last` lanes of the last register are valid.
template <class T, int P, int K, int R>
void joined_tile(const Layer<T>& layer, std::int64_t row, std::int64_t column, int last) {
  Lanes<T, P> sum[R][K];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int c = 0; c < K; ++c) sum[i][c] = Lanes<T, P>{};
  }
  const T* w = layer.w + column;
  for (const Part<T>& part : layer.parts) {
    const T* x = part.data + row * part.width;
    for (std::int64_t j = 0; j < part.width; ++j, w += layer.width) {
      Lanes<T, P> right[K];
#pragma GCC unroll 2
      for (int c = 0; c < K; ++c) right[c] = load_row<T, P>(w + c * P, c + 1 < K ? P : last);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) {
        const T left = x[i * part.width + j];
#pragma GCC unroll 2
        for (int c = 0; c < K; ++c) sum[i][c] += left * right[c];
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 2
    for (int c = 0; c < K; ++c) {
      const int lanes = c + 1 < K ? P : last;
      if (layer.bias != nullptr) sum[i][c] += load_first<T, P>(layer.bias + column + c * P, lanes);
      store_first<T, P>(layer.y + (row + i) * layer.width + column + c * P, sum[i][c], lanes);
    }
  }
}

template <class T, int P, int K>
void joined_columns(const Layer<T>& layer, std::int64_t begin, std::int64_t end, std::int64_t column, int last) {
  constexpr int R = many_registers || K == 1 ? 8 : 6;
  std::int64_t row = begin;
  for (; row + R <= end; row += R) joined_tile<T, P, K, R>(layer, row, column, last);
  for (; row < end; ++row) joined_tile<T, P, K, 1>(layer, row, column, last);
}

template <class T>
void joined_rows(const Layer<T>& layer, std::int64_t begin, std::int64_t end) {
  constexpr int P = most_lanes<T>;
  std::int64_t column = 0;
  for (; column + P < layer.width; column += 2 * P) {
    const auto last = static_cast<int>(std::min<std::int64_t>(P, layer.width - column - P));
    joined_columns<T, P, 2>(layer, begin, end, column, last);
  }
  if (column >= layer.width) return;
  with_lanes<T>(layer.width - column, [&](auto lanes) {
    joined_columns<T, decltype(lanes)::value, 1>(layer, begin, end, column, static_cast<int>(layer.width - column));
  });
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  const std::int64_t row_flops = 2 * op.w.elements();
  const std::int64_t grain =
      std::clamp(flops_per_task / std::max<std::int64_t>(1, row_flops), block_rows, 32 * block_rows);
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Layer<T> layer{column_parts<T>(op.parts), op.w.data<T>(), op.bias.defined() ? op.bias.data<T>() : nullptr,
                         op.y.data<T>(), op.w.columns()};
    for_ranges(context, op.y.rows(), grain,
               [&](std::int64_t begin, std::int64_t end) { joined_rows(layer, begin, end); });
  });
}

/// State that all ranges of rows of a backward pass share. `wanted` is the layer of the columns from the first to the
/// last part whose gradient is asked for; the parts' first columns count within it.
template <class T>
struct Backward {
  const JoinedDenseBackward& op;
  std::vector<Part<T>> inputs, gradients;
  DenseBackward whole, wanted;
  Scratch<T> turned;  // wanted.w^T

  explicit Backward(const JoinedDenseBackward& operation) : op(operation), inputs(column_parts<T>(op.parts)) {
    whole.w = op.w, whole.dy = op.dy, whole.dw = op.dw, whole.dbias = op.dbias;
    for (std::size_t i = 0; i < op.parts.size(); ++i) {
      if (!op.dparts[i].defined()) continue;
      gradients.push_back({op.dparts[i].data<T>(), inputs[i].width, inputs[i].first, op.accumulate[i]});
    }
    if (gradients.empty()) return;
    const std::int64_t first = gradients.front().first, end = gradients.back().first + gradients.back().width;
    wanted.w = op.w.slice_rows(first, end - first);
    turned = transposed<T>(wanted.w);
    for (Part<T>& part : gradients) part.first -= first;
  }
};

/// The parts' gradients of rows [begin, end), and to `sums` [(F + 1) G] these rows' part of dw and dbias.
template <class T>
void backward_rows(Backward<T>& back, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t inner = back.whole.w.rows(), width = back.whole.w.columns();
  const std::int64_t columns = back.gradients.empty() ? 0 : back.wanted.w.rows();
  BackwardRange<T> whole{back.whole, nullptr, sums, {}};
  const BackwardRange<T> wanted{back.wanted, back.turned.data(), nullptr, {}};
  begin_sums(whole);
  T* const block = line_buffer<T>(block_rows * std::max(inner, columns) + most_lanes<T>);
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    const T* dy = back.op.dy.template data<T>() + row * width;
    for (const Tensor& part : back.op.parts) prefetch_next(part, row, rows);
    join_rows<T>(back.inputs, block, inner, row, row + rows);
    add_sums<T>(whole, block, dy, rows);
    if ((row - begin + block_rows) % weight_task_rows == 0 || row + rows == end) flush_sums(whole);
    if (columns == 0) continue;
    multiply_back<T>(wanted, dy, rows, block);
    split_rows<T>(back.gradients, block, columns, row, row + rows);
  }
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), grain = std::max<std::int64_t>(512, divide_up(rows, most_ranges));
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    Backward<T> back(op);
    add_weight_gradients<T>(
        context, rows, grain, op.dw, op.w.elements(), op.dbias, op.w.columns(),
        [&](std::int64_t begin, std::int64_t end, double* sums) { backward_rows<T>(back, begin, end, sums); });
  });
}

template <class Op>
bool serves(const Op& op) {
  return op.w.elements() <= many_weights;
}

const RegisterKernel<JoinedDense> forward{"cpu", {"vector", 10, serves<JoinedDense>, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward{"cpu", {"vector", 10, serves<JoinedDenseBackward>, run_backward}};

}  // namespace
}  // namespace strobe
