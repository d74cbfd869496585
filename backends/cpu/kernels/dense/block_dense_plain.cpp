// Plain products of column blocks, straight from the definition. Weight gradients are summed per range of rows in
// double and then in order of ranges. Cost 2 R F G FLOPs per block and product.
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 1024;

template <class T>
void forward_rows(const BlockDense& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), skip = op.skip(),
                     columns = op.y.columns();
  for (std::int64_t r = begin; r < end; ++r) {
    T* y = op.y.data<T>() + r * columns;
    for (std::int64_t i = 0; i < skip; ++i) y[i] = op.left.data<T>()[r * skip + i];
    for (std::int64_t j = 0; j < columns - skip; ++j) {
      const std::int64_t block = j / width, g = j % width;
      T sum = op.bias.defined() ? op.bias.data<T>()[j] : T{0};
      for (std::int64_t f = 0; f < inner; ++f) {
        sum += op.x.data<T>()[r * op.x.columns() + block * inner + f] * op.w.data<T>()[(block * inner + f) * width + g];
      }
      y[skip + j] = sum;
    }
    for (std::int64_t i = 0; op.activation == Activation::relu && i < columns; ++i) y[i] = y[i] < T{0} ? T{0} : y[i];
  }
}

template <class T>
void backward_row(const BlockDenseBackward& op, std::int64_t r, const T* dz, double* sums) {
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), skip = op.skip();
  for (std::int64_t f = 0; f < op.w.rows(); ++f) {
    const std::int64_t block = f / inner;
    T total{0};
    for (std::int64_t g = 0; g < width; ++g) {
      const T d = dz[skip + block * width + g];
      sums[f * width + g] += static_cast<double>(op.x.data<T>()[r * op.x.columns() + f]) * static_cast<double>(d);
      total += d * op.w.data<T>()[f * width + g];
    }
    if (!op.dx.defined()) continue;
    T& dx = op.dx.data<T>()[r * op.dx.columns() + f];
    dx = op.accumulate_dx ? dx + total : total;
  }
  for (std::int64_t j = 0; j < op.blocks * width; ++j) sums[op.w.elements() + j] += static_cast<double>(dz[skip + j]);
  for (std::int64_t i = 0; op.dleft.defined() && i < skip; ++i) {
    T& dleft = op.dleft.data<T>()[r * skip + i];
    dleft = op.accumulate_dleft ? dleft + dz[i] : dz[i];
  }
}

template <class T>
void backward_rows(const BlockDenseBackward& op, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t columns = op.dy.columns();
  std::vector<T> dz(columns);
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const bool dead = op.activation == Activation::relu && !(op.y.data<T>()[r * columns + i] > T{0});
      dz[i] = dead ? T{0} : op.dy.data<T>()[r * columns + i];
    }
    backward_row(op, r, dz.data(), sums);
  }
}

void run_forward(const BlockDense& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    cpu::for_ranges(context, op.y.rows(), rows_per_task,
                    [&](std::int64_t begin, std::int64_t end) { forward_rows<decltype(zero)>(op, begin, end); });
  });
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), grain = std::max(rows_per_task, cpu::divide_up(rows, 64));
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::add_weight_gradients<T>(
        context, rows, grain, op.dw, op.w.elements(), op.dbias, op.blocks * op.w.columns(),
        [&](std::int64_t begin, std::int64_t end, double* sums) { backward_rows<T>(op, begin, end, sums); });
  });
}

const RegisterKernel<BlockDense> plain{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<BlockDenseBackward> backward_plain{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
