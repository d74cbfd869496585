// Dense layers whose outputs are whole panels, alone or next to columns that are passed through, by rows as they lie in
// memory (row_products.hpp). Lines of the next block of rows are asked for while this one is multiplied. Outputs that
// no cache would keep go past them. Weight gradients are summed in the element type over some blocks, and in double
// over those and ranges of rows (strip_sums.hpp); ranges depend on the number of rows only. Cost 2 R F G FLOPs per
// product; every tensor passes once.
#include <vector>

#include "backends/cpu/kernels/dense/dense_deep.hpp"
#include "backends/cpu/kernels/dense/row_products.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_of_block = 48;  // of x and dz at 64 columns: 12 KiB each
constexpr std::int64_t rows_of_task = 4 * rows_of_block;
constexpr std::int64_t blocks_per_flush = 32;
constexpr std::int64_t most_ranges = 64;
constexpr std::uint64_t most_cached = 32 << 20;  // bytes that a last-level cache may keep until they are read

/// Whether rows of a result go past the caches: there is more of it than they keep until it is read.
template <class T>
bool past_caches(const Tensor& to, std::int64_t skip = 0) {
  return to.bytes() > most_cached && skip % most_lanes<T> == 0 &&
         in_whole_lines(to.data<T>(), to.columns(), to.columns());
}

NextStrip block_behind(std::int64_t row, std::int64_t end) {
  return {0, row + rows_of_block, std::min(rows_of_block, end - row - rows_of_block)};
}

/// to[r * to_stride + i] = change(from[r * from_stride + i], what is there) for `rows` rows of `width` values.
template <class T, class Change>
void change_rows(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t width,
                 std::int64_t rows, const Change& change) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    for (std::int64_t i = 0; i < width; i += P) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - i));
      change(load_row<T, P>(from + i, lanes), to + i, lanes);
    }
  }
}

template <class T>
void forward_rows(const BlockDense& op, const PackedColumns<T>& packed, std::int64_t begin, std::int64_t end) {
  constexpr int P = most_lanes<T>;
  const std::int64_t inner = op.x.columns(), skip = op.skip(), stride = op.y.columns();
  const T* const bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  const bool with_relu = op.activation == Activation::relu;
  const bool streams = past_caches<T>(op.y, skip);
  const auto pass = [=](Lanes<T, P> v, T* to, int lanes) {
    if (with_relu) v = relu<T, P>(v);
    streams ? stream_line(to, v) : store_first<T, P>(to, v, lanes);
  };
  for (std::int64_t row = begin; row < end; row += rows_of_block) {
    const std::int64_t rows = std::min(rows_of_block, end - row);
    LinesAhead ahead;
    ahead.add(block_behind(row, end), 0, op.x);
    if (skip > 0 && op.left.raw() != op.x.raw()) ahead.add(block_behind(row, end), 0, op.left);
    if (!streams) ahead.add(block_behind(row, end), 0, op.y);
    T* const y = op.y.data<T>() + row * stride;
    const RowSource<T> source{op.x.data<T>() + row * inner, inner, &packed};
    multiply_rows<T>(std::span<const RowSource<T>>(&source, 1), rows, ahead,
                     {y + skip, stride, op.w.columns(), false, bias, with_relu, streams});
    if (skip > 0) change_rows<T>(op.left.data<T>() + row * skip, skip, y, stride, skip, rows, pass);
  }
  if (streams) end_streams();
}

void run_forward(const BlockDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const PackedColumns<T> packed(op.w.data<T>(), op.w.rows(), op.w.columns());
    for_ranges(context, op.y.rows(), rows_of_task,
               [&](std::int64_t begin, std::int64_t end) { forward_rows(op, packed, begin, end); });
  });
}

/// The state of one range of rows.
template <class T>
struct BackwardRange {
  const BlockDenseBackward& op;
  const PackedColumns<T>& turned;  // w^T [G, F]; empty without dx
  StripSums<T> sums;
  double* bias_total;
  LinesAhead ahead;
  Scratch<T> dz;  // [rows_of_block, dz_stride()]

  BackwardRange(const BlockDenseBackward& operation, const PackedColumns<T>& of_dx, double* total)
      : op(operation),
        turned(of_dx),
        sums(operation.dw.defined() ? operation.w.elements() : 0, 0, total),
        bias_total(total + operation.w.elements()),
        dz(rows_of_block * dz_stride()) {}

  std::int64_t dz_stride() const { return spread_rows<T>(op.w.columns()); }
};

/// Rows of dz without the columns that are passed through, and how far they lie apart.
template <class T>
struct DzRows {
  const T* first;
  std::int64_t stride;
};

/// The gradient for dleft is written before that for dx: when they are one tensor, dx begins with it.
bool passes_into_dx(const BlockDenseBackward& op) { return op.dleft.defined() && op.dleft.raw() == op.dx.raw(); }

/// Stores, or adds, `lanes` values of dleft.
template <class T, int P>
[[gnu::always_inline]] inline void put_left(Lanes<T, P> v, T* to, int lanes, bool add) {
  if (add) v += load_first<T, P>(to, lanes);
  store_first<T, P>(to, v, lanes);
}

/// dz of `rows` rows from `row` on; writes the columns that are passed through to dleft. Prefetches the rows after
/// them.
template <class T, bool with_relu>
DzRows<T> block_dz(BackwardRange<T>& range, std::int64_t row, std::int64_t rows) {
  constexpr int P = most_lanes<T>;
  const BlockDenseBackward& op = range.op;
  const std::int64_t stride = op.dy.columns(), skip = op.skip(), behind = rows_of_block * stride;
  const std::int64_t left = op.dleft.defined() ? skip : 0, width = with_relu ? op.w.columns() : 0;
  const bool add = passes_into_dx(op) ? op.accumulate_dx : op.accumulate_dleft;
  const T* dy = op.dy.data<T>() + row * stride;
  const T* y = with_relu ? op.y.data<T>() + row * stride : dy;
  T *dz = range.dz.data(), *to = left > 0 ? op.dleft.data<T>() + row * skip : nullptr;
  const auto masked = [&](std::int64_t at, int lanes) {
    __builtin_prefetch(y + at + behind, 0, 2);
    __builtin_prefetch(dy + at + behind, 0, 2);
    const Lanes<T, P> zero{}, gradient = load_row<T, P>(dy + at, lanes);
    return with_relu ? (load_row<T, P>(y + at, lanes) > zero ? gradient : zero) : gradient;
  };
  for (std::int64_t r = 0; r < rows; ++r, y += stride, dy += stride, dz += range.dz_stride(), to += left) {
    for (std::int64_t i = 0; i < left; i += P) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, left - i));
      put_left<T, P>(masked(i, lanes), to + i, lanes, add);
    }
    for (std::int64_t i = 0; i < width; i += P) store_first<T, P>(dz + i, masked(skip + i, P), P);
  }
  if (with_relu) return {range.dz.data(), range.dz_stride()};
  return {op.dy.data<T>() + row * stride + skip, stride};  // dy itself
}

template <class T>
void backward_range(BackwardRange<T>& range, std::int64_t begin, std::int64_t end) {
  const BlockDenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  const bool with_relu = op.activation == Activation::relu, accumulate = op.accumulate_dx || passes_into_dx(op);
  const bool streams = op.dx.defined() && !accumulate && past_caches<T>(op.dx);
  for (std::int64_t row = begin, block = 1; row < end; row += rows_of_block, ++block) {
    const std::int64_t rows = std::min(rows_of_block, end - row);
    range.ahead.clear();
    if (op.dw.defined()) range.ahead.add(block_behind(row, end), 0, op.x);
    if (!streams) range.ahead.add(block_behind(row, end), 0, op.dx);
    if (!with_relu) range.ahead.add(block_behind(row, end), 0, op.dy);
    const DzRows<T> dz = with_relu ? block_dz<T, true>(range, row, rows) : block_dz<T, false>(range, row, rows);
    if (op.dbias.defined()) add_column_sums(dz.first, dz.stride, width, rows, range.bias_total);
    if (op.dw.defined())
      range.sums.add(0, width, op.x.data<T>() + row * inner, inner, inner, dz.first, dz.stride, width, rows);
    if (op.dx.defined()) {
      const RowSource<T> source{dz.first, dz.stride, &range.turned};
      multiply_rows<T>(std::span<const RowSource<T>>(&source, 1), rows, range.ahead,
                       {op.dx.data<T>() + row * inner, inner, inner, accumulate, nullptr, false, streams});
    }
    if (block % blocks_per_flush == 0) range.sums.flush();
  }
  range.sums.flush();
  if (streams) end_streams();
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), weights = op.w.elements(), width = op.w.columns();
  const std::int64_t grain = std::max(std::int64_t{512}, divide_up(rows, most_ranges));
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const PackedColumns<T> turned =
        op.dx.defined() ? PackedColumns<T>::turned(op.w.data<T>(), width, op.w.rows()) : PackedColumns<T>();
    add_weight_gradients<T>(context, rows, grain, op.dw, weights, op.dbias, width,
                            [&](std::int64_t begin, std::int64_t end, double* total) {
                              BackwardRange<T> range(op, turned, total);
                              backward_range(range, begin, end);
                            });
  });
}

BlockDense in_blocks(const Dense& op) { return {{}, op.x, op.w, op.bias, op.y, 1, op.activation}; }

BlockDenseBackward in_blocks(const DenseBackward& op) {
  BlockDenseBackward whole;
  whole.x = op.x, whole.w = op.w, whole.y = op.y, whole.dy = op.dy;
  whole.dx = op.dx, whole.dw = op.dw, whole.dbias = op.dbias;
  whole.activation = op.activation, whole.accumulate_dx = op.accumulate_dx;
  return whole;
}

template <class Op>
bool whole_panels(const Op& op) {
  const std::int64_t lanes = op.w.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return op.w.columns() % (2 * lanes) == 0 && op.w.rows() > 0;
}

template <class Op>
bool serves_backward(const Op& op) {
  return whole_panels(op) && op.w.elements() <= many_weights;
}

const RegisterKernel<Dense> dense{
    "cpu", {"rows", 15, whole_panels<Dense>, [](const Dense& op, KernelContext& c) { run_forward(in_blocks(op), c); }}};
const RegisterKernel<DenseBackward> dense_backward{
    "cpu", {"rows", 15, serves_backward<DenseBackward>, [](const DenseBackward& op, KernelContext& c) {
              run_backward(in_blocks(op), c);
            }}};
const RegisterKernel<BlockDense> block_dense{
    "cpu", {"rows", 15, [](const BlockDense& op) { return op.blocks == 1 && whole_panels(op); }, run_forward}};
const RegisterKernel<BlockDenseBackward> block_dense_backward{
    "cpu",
    {"rows", 15, [](const BlockDenseBackward& op) { return op.blocks == 1 && serves_backward(op); }, run_backward}};

}  // namespace
}  // namespace strobe
