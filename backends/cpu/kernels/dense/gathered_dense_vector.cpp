// Vector dense layer on listed rows and its gradient. Blocks of 128 samples put their rows side by side in a buffer
// that stays in the first-level cache, and go on as the dense layer does (dense_rows.hpp). dw is summed in the element
// type inside a block and in double over blocks and ranges of samples, which depend on their number only. The rows'
// gradients are added by the task that owns the row: every task walks the blocks in their order, passes over those that
// name no row of its own, and multiplies the others, so that a row's terms are added in one order whatever the number
// of tasks. Samples of one step lie together in a task's lists, and so do its rows: few blocks are multiplied twice.
// Cost 2 S K F G FLOPs a product; lists once per task, the rows' lines once forward and twice backward.
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/dense/gathered_cells.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_gather.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t samples_per_task = 128 * block_rows;
constexpr std::int64_t most_ranges = 32;  // long ones: each brings in the rows of its steps

/// Calls body(first, count, cells) for the blocks of samples [begin, end) with their rows side by side.
template <class T, class Body>
void for_blocks(const Listed& x, std::int64_t begin, std::int64_t end, const Body& body) {
  T* const cells = line_buffer<T>(block_rows * x.cell_width() + most_lanes<T>);
  with_copy(x.width, sizeof(T), [&](const auto& move) {
    for_sample_blocks(x, begin, end, block_rows, [&](std::int64_t first, std::int64_t count) {
      gather_cells(x, first, count, side_by_side<T>(x, cells), move);
      body(first, count, cells);
    });
  });
}

void run_forward(const GatheredDense& op, KernelContext& context) {
  const Listed x(op.x, op.rows, op.y.rows());
  Dense dense;
  dense.w = op.w, dense.bias = op.bias, dense.y = op.y;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    for_ranges(context, x.samples, samples_per_task, [&](std::int64_t begin, std::int64_t end) {
      for_blocks<T>(x, begin, end, [&](std::int64_t first, std::int64_t count, const T* cells) {
        dense_block<T>(dense, cells, first, first + count);
      });
    });
  });
}

template <class T>
void add_weight_gradients(const GatheredDenseBackward& op, const KernelContext& context) {
  const Listed x(op.x, op.rows, op.dy.rows());
  const std::int64_t weights = op.w.elements(), width = op.w.columns(), stride = weights + width;
  const std::int64_t grain =
      divide_up(std::max(4 * block_rows, divide_up(x.samples, most_ranges)), block_rows) * block_rows;
  std::vector<double> sums(divide_up(x.samples, grain) * stride, 0.0);
  DenseBackward whole;
  whole.w = op.w, whole.dy = op.dy, whole.dw = op.dw, whole.dbias = op.dbias;
  for_ranges(context, x.samples, grain, [&](std::int64_t begin, std::int64_t end) {
    BackwardRange<T> range{whole, nullptr, sums.data() + begin / grain * stride, {}};
    begin_sums(range);
    for_blocks<T>(x, begin, end, [&](std::int64_t first, std::int64_t count, const T* cells) {
      add_sums<T>(range, cells, op.dy.data<T>() + first * width, count);
      if ((first - begin + block_rows) % weight_task_rows == 0 || first + count == end) flush_sums(range);
    });
  });
  add_range_sums<T>(op.dw, sums, 0, stride);
  add_range_sums<T>(op.dbias, sums, weights, stride);
}

template <class T>
void add_row_gradients(const GatheredDenseBackward& op, const KernelContext& context) {
  const Listed dx(op.dx, op.rows, op.dy.rows());
  DenseBackward whole;
  whole.w = op.w, whole.dy = op.dy;
  Scratch<T> turned = transposed<T>(op.w);
  for_ranges(context, op.dx.rows(), owned_rows(dx, op.dx.rows(), context), [&](std::int64_t begin, std::int64_t end) {
    const BackwardRange<T> range{whole, turned.data(), nullptr, {}};
    T* const cells = line_buffer<T>(block_rows * dx.cell_width() + most_lanes<T>);
    with_addition<T>(dx.width, [&](const auto& move) {
      for_owned_blocks(dx, {begin, end}, block_rows, [&](std::int64_t first, std::int64_t count) {
        multiply_back<T>(range, op.dy.data<T>() + first * op.w.columns(), count, cells);
        add_cells(dx, {begin, end}, first, count, side_by_side<T>(dx, cells), move);
      });
    });
  });
}

void run_backward(const GatheredDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    add_weight_gradients<T>(op, context);
    if (op.dx.defined() && op.dx.rows() > 0) add_row_gradients<T>(op, context);
  });
}

const RegisterKernel<GatheredDense> vector{"cpu", {"vector", 10, nullptr, run_forward}};
const RegisterKernel<GatheredDenseBackward> backward_vector{"cpu", {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
