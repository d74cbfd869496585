// Vector dense layer of parts side by side, made for narrow layers over very many rows, right for any width. Forward, a
// tile of 8 rows walks the parts and keeps its sums in registers. Backward works on blocks of 128 rows, as the dense
// layer does (dense_rows.hpp), and a block goes through the parts as layers of their own while its rows of dy stay in
// the first-level cache; gradients of parts that nobody asks for cost nothing. dw is summed in the element type inside
// a block and in double over blocks and row ranges, which depend on the number of rows only. Cost 2 R F G FLOPs per
// product; each part read once forward and once backward, memory bound below widths of about 32.
#include <vector>

#include "backends/cpu/kernels/column_parts.hpp"
#include "backends/cpu/kernels/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations_join.hpp"

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
      for (int c = 0; c < K; ++c) right[c] = load_first<T, P>(w + c * P, c + 1 < K ? P : last);
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
  std::int64_t row = begin;
  for (; row + 8 <= end; row += 8) joined_tile<T, P, K, 8>(layer, row, column, last);
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

/// One part as a layer of its own: its rows of w from `first` on, its gradient where it is wanted.
template <class T>
struct PartLayer {
  DenseBackward op;
  std::int64_t first;
  Scratch<T> turned;  // w^T for dx
};

template <class T>
std::vector<PartLayer<T>> part_layers(const JoinedDenseBackward& op) {
  std::vector<PartLayer<T>> layers;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < op.parts.size(); first += op.parts[i].columns(), ++i) {
    DenseBackward part;
    part.x = op.parts[i];
    part.w = op.w.slice_rows(first, op.parts[i].columns());
    part.dx = op.dparts[i];
    part.dw = op.dw;  // says that it is wanted
    part.accumulate_dx = op.accumulate[i];
    layers.push_back({part, first, part.dx.defined() ? transposed<T>(part.w) : Scratch<T>()});
  }
  return layers;
}

/// dparts of rows [begin, end), and their part of dw and dbias added to `sums` [(F + 1) G].
template <class T>
void backward_rows(const JoinedDenseBackward& op, std::vector<PartLayer<T>>& layers, std::int64_t begin,
                   std::int64_t end, double* sums) {
  const std::int64_t width = op.w.columns();
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    const T* dy = op.dy.data<T>() + row * width;
    for (PartLayer<T>& part : layers) {
      const BackwardRange<T> own{part.op, part.turned.data(), sums + part.first * width, {}};
      prefetch_next(part.op.x, row, rows);
      add_block_sums(own, part.op.x.template data<T>() + row * part.op.x.columns(), dy, rows);
      if (!part.op.dx.defined()) continue;
      part.op.accumulate_dx ? store_block_dx<T, true>(own, dy, row, rows)
                            : store_block_dx<T, false>(own, dy, row, rows);
    }
    if (op.dbias.defined()) add_column_sums(dy, width, width, rows, sums + op.w.elements());
  }
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), grain = std::max<std::int64_t>(512, divide_up(rows, most_ranges));
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<PartLayer<T>> layers = part_layers<T>(op);
    add_weight_gradients<T>(
        context, rows, grain, op.dw, op.w.elements(), op.dbias, op.w.columns(),
        [&](std::int64_t begin, std::int64_t end, double* sums) { backward_rows(op, layers, begin, end, sums); });
  });
}

const RegisterKernel<JoinedDense> joined_vector{Numerics::cpu, {"vector", 10, nullptr, run_forward}};
const RegisterKernel<JoinedDenseBackward> joined_backward_vector{Numerics::cpu, {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
