// Vector products of column blocks (tile.hpp): rows in blocks of 128 that stay in the first-level cache, so each tensor
// passes through once however many column blocks there are. Weight gradients are summed in the element type inside a
// block and in double over blocks and ranges of rows; ranges depend on the number of rows only.
// Cost 2 R F G FLOPs per column block and product; memory bound below widths of about 32.
#include <vector>

#include "backends/cpu/kernels/add_values.hpp"
#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 512;  // the roots of a batch of events are some 1,800, for all threads
constexpr std::int64_t block_rows = 128;
constexpr std::int64_t most_ranges = 64;

/// to [rows, width] = from [rows, width] with rows of different strides, through `change`.
template <class T, class Change>
void copy_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t width,
                std::int64_t rows, const Change& change) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    for (std::int64_t i = 0; i < width; i += P) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - i));
      store_first<T, P>(to + i, change(load_row<T, P>(from + i, lanes), load_first<T, P>(to + i, lanes)), lanes);
    }
  }
}

template <class T>
void forward_rows(const BlockDense& op, std::int64_t begin, std::int64_t end) {
  constexpr int Q = most_lanes<T>;
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), skip = op.skip();
  const std::int64_t from = op.x.columns(), to = op.y.columns();
  const bool with_relu = op.activation == Activation::relu;
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    for (std::int64_t k = 0; k < op.blocks; ++k) {
      T* y = op.y.data<T>() + row * to + skip + k * width;
      const T* bias = op.bias.defined() ? op.bias.data<T>() + k * width : nullptr;
      const Factors<T> factors{op.x.data<T>() + row * from + k * inner, from,  1,
                               op.w.data<T>() + k * inner * width,      width, inner};
      multiply(factors, rows, width, ProductStore<T>{y, to, bias, with_relu});
    }
    if (skip == 0) continue;
    copy_block<T>(op.left.data<T>() + row * skip, skip, op.y.data<T>() + row * to, to, skip, rows,
                  [=](Lanes<T, Q> v, Lanes<T, Q>) { return with_relu ? relu<T, Q>(v) : v; });
  }
}

void run_forward(const BlockDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    for_ranges(context, op.y.rows(), rows_per_task,
               [&](std::int64_t begin, std::int64_t end) { forward_rows<T>(op, begin, end); });
  });
}

/// The state of one range of rows. `sums` holds its part of dw, followed by that of dbias.
template <class T>
struct BackwardRange {
  const BlockDenseBackward& op;
  const T* turned;  // w^T [G, F] of every block, one after the other
  double* sums;
  std::vector<T> dz;  // [block_rows, L + K G] and a register
};

/// dz of `rows` rows from `row` on; without an activation it is dy itself.
template <class T>
const T* block_dz(BackwardRange<T>& range, std::int64_t row, std::int64_t rows) {
  constexpr int P = most_lanes<T>;
  const BlockDenseBackward& op = range.op;
  const std::int64_t count = rows * op.dy.columns();
  const T* dy = op.dy.data<T>() + row * op.dy.columns();
  if (op.activation == Activation::none) return dy;
  const T* y = op.y.data<T>() + row * op.dy.columns();
  T* dz = range.dz.data();
  for_lanes<T>(0, count, [=](std::int64_t i, int lanes) {
    const Lanes<T, P> zero{}, outputs = load_row<T, P>(y + i, lanes), gradient = load_row<T, P>(dy + i, lanes);
    store_first<T, P>(dz + i, outputs > zero ? gradient : zero, lanes);
  });
  return dz;
}

/// Adds the rows' part of dw and dbias to the range's sums.
template <class T>
void add_block_sums(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows) {
  const BlockDenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), stride = op.dy.columns();
  for (std::int64_t k = 0; k < op.blocks; ++k) {
    double* sums = range.sums + k * inner * width;
    const T* own = dz + op.skip() + k * width;
    multiply(Factors<T>{op.x.data<T>() + row * op.x.columns() + k * inner, 1, op.x.columns(), own, stride, rows}, inner,
             width, ProductSums{sums, width});
  }
  if (!op.dbias.defined()) return;
  add_column_sums(dz + op.skip(), stride, op.blocks * width, rows, range.sums + op.w.elements());
}

/// to [rows, K F] = dz w^T of every block, or added to it.
template <class T>
void multiply_turned(const BackwardRange<T>& range, const T* dz, std::int64_t rows, T* to, bool add) {
  const BlockDenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), stride = op.dy.columns();
  const std::int64_t columns = op.w.rows();
  for (std::int64_t k = 0; k < op.blocks; ++k) {
    const Factors<T> factors{dz + op.skip() + k * width, stride, 1, range.turned + k * inner * width, inner, width};
    multiply(factors, rows, inner, ProductStore<T>{.to = to + k * inner, .stride = columns, .accumulate = add});
  }
}

template <class T>
void store_block_dx(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows) {
  const BlockDenseBackward& op = range.op;
  const std::int64_t columns = op.w.rows(), inner = columns / op.blocks;
  T* dx = op.dx.data<T>() + row * columns;
  if (!op.accumulate_dx || inner % most_lanes<T> == 0 || columns * block_rows > most_added)
    return multiply_turned(range, dz, rows, dx, op.accumulate_dx);
  alignas(64) T added[most_added];
  multiply_turned(range, dz, rows, static_cast<T*>(added), false);
  add_values(static_cast<const T*>(added), dx, rows * columns);
}

/// dleft of a block of rows: dz's first columns, stored or added.
template <class T>
void store_block_dleft(const BlockDenseBackward& op, const T* dz, std::int64_t row, std::int64_t rows) {
  constexpr int P = most_lanes<T>;
  const std::int64_t skip = op.skip(), stride = op.dy.columns();
  T* to = op.dleft.data<T>() + row * skip;
  if (op.accumulate_dleft && skip % P != 0 && skip * block_rows <= most_added) {
    alignas(64) T added[most_added];
    copy_block<T>(dz, stride, added, skip, skip, rows, [](Lanes<T, P> v, Lanes<T, P>) { return v; });
    return add_values(static_cast<const T*>(added), to, rows * skip);
  }
  const bool add = op.accumulate_dleft;
  copy_block<T>(dz, stride, to, skip, skip, rows,
                [add](Lanes<T, P> v, Lanes<T, P> before) { return add ? v + before : v; });
}

template <class T>
void backward_range(BackwardRange<T>& range, std::int64_t begin, std::int64_t end) {
  const BlockDenseBackward& op = range.op;
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    const T* dz = block_dz(range, row, rows);
    add_block_sums(range, dz, row, rows);
    if (op.dx.defined()) store_block_dx(range, dz, row, rows);
    if (op.dleft.defined()) store_block_dleft(op, dz, row, rows);
  }
}

template <class T>
std::vector<T> turned_blocks(const BlockDenseBackward& op) {
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns();
  std::vector<T> turned(op.w.elements() + most_lanes<T>, T{0});
  for (std::int64_t f = 0; f < op.w.rows(); ++f) {
    T* block = turned.data() + f / inner * inner * width;
    for (std::int64_t g = 0; g < width; ++g) block[g * inner + f % inner] = op.w.data<T>()[f * width + g];
  }
  return turned;
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), stride = op.w.elements() + op.blocks * op.w.columns();
  const std::int64_t grain = std::max(std::int64_t{512}, divide_up(rows, most_ranges));
  std::vector<double> sums(divide_up(rows, grain) * stride, 0.0);
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> turned = turned_blocks<T>(op);
    for_ranges(context, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      BackwardRange<T> range{op, turned.data(), sums.data() + begin / grain * stride,
                             std::vector<T>(block_rows * op.dy.columns() + most_lanes<T>, T{0})};
      backward_range(range, begin, end);
    });
    cpu::add_range_sums<T>(op.dw, sums, 0, stride);
    cpu::add_range_sums<T>(op.dbias, sums, op.w.elements(), stride);
  });
}

const RegisterKernel<BlockDense> vector{"cpu", {"vector", 10, nullptr, run_forward}};
const RegisterKernel<BlockDenseBackward> backward_vector{"cpu", {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
