// Plain products of column blocks and their gradients, straight from the definition. Forward: one thread an element of
// y, whether a product or passed through. Backward: one thread an element of dx, then of dleft (which may be dx), then
// one for every weight (and bias) of every range of rows, which sums in double, and a launch that adds the ranges in
// order. Cost 2 R F G FLOPs per block and product; one launch forward, up to four backward.
#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe::cuda {
namespace block_dense_plain_kernels {

constexpr int threads = 256;

struct Sizes {
  std::int64_t rows, skip, blocks, inner, width;
  __device__ std::int64_t from() const { return blocks * inner; }            // columns of x
  __device__ std::int64_t columns() const { return skip + blocks * width; }  // columns of y
};

template <class T>
struct Product {
  Sizes s;
  const T *left, *x, *w, *bias;
  T* y;
  bool relu;
};

template <class T>
__device__ T product(const Product<T>& p, std::int64_t row, std::int64_t j) {
  const std::int64_t block = j / p.s.width, g = j % p.s.width;
  T sum = p.bias != nullptr ? p.bias[j] : T{0};
  for (std::int64_t f = block * p.s.inner; f < (block + 1) * p.s.inner; ++f) {
    sum += p.x[row * p.s.from() + f] * p.w[f * p.s.width + g];
  }
  return sum;
}

template <class T>
__global__ void block_dense(Product<T> p) {
  const std::int64_t columns = p.s.columns();
  for (std::int64_t i = grid_thread(); i < p.s.rows * columns; i += grid_threads()) {
    const std::int64_t row = i / columns, column = i % columns;
    const T value = column < p.s.skip ? p.left[row * p.s.skip + column] : product(p, row, column - p.s.skip);
    p.y[i] = activated(value, p.relu);
  }
}

template <class T>
struct Gradient {
  Sizes s;
  const T *x, *w, *y, *dy;  // y is null without activation
  T *dx, *dleft;
  bool accumulate_dx, accumulate_dleft;
};

template <class T>
__global__ void input_gradient(Gradient<T> p) {
  const std::int64_t from = p.s.from();
  for (std::int64_t i = grid_thread(); i < p.s.rows * from; i += grid_threads()) {
    const std::int64_t row = i / from, f = i % from, first = p.s.skip + f / p.s.inner * p.s.width;
    T sum{0};
    for (std::int64_t g = 0; g < p.s.width; ++g) {
      sum += through_activation(p.y, p.dy, row * p.s.columns() + first + g) * p.w[f * p.s.width + g];
    }
    p.dx[i] = p.accumulate_dx ? p.dx[i] + sum : sum;
  }
}

template <class T>
__global__ void left_gradient(Gradient<T> p) {
  for (std::int64_t i = grid_thread(); i < p.s.rows * p.s.skip; i += grid_threads()) {
    const std::int64_t row = i / p.s.skip, column = i % p.s.skip;
    const T dz = through_activation(p.y, p.dy, row * p.s.columns() + column);
    p.dleft[i] = p.accumulate_dleft ? p.dleft[i] + dz : dz;
  }
}

/// sums[range] holds dw [K F * G], then dbias [K * G].
template <class T>
__global__ void weight_sums(Gradient<T> p, RowParts ranges, double* sums) {
  const std::int64_t weights = p.s.from() * p.s.width, stride = weights + p.s.blocks * p.s.width;
  for (std::int64_t i = grid_thread(); i < ranges.count * stride; i += grid_threads()) {
    const std::int64_t range = i / stride, at = i % stride, f = at / p.s.width;
    const bool bias = at >= weights;
    const std::int64_t column = p.s.skip + (bias ? at - weights : f / p.s.inner * p.s.width + at % p.s.width);
    double sum = 0;
    for (std::int64_t r = ranges.begin(range); r < ranges.end(range); ++r) {
      const double dz = through_activation(p.y, p.dy, r * p.s.columns() + column);
      sum += bias ? dz : static_cast<double>(p.x[r * p.s.from() + f]) * dz;
    }
    sums[i] = sum;
  }
}

void run_forward(const BlockDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Sizes sizes{op.y.rows(), op.skip(), op.blocks, op.w.rows() / op.blocks, op.w.columns()};
    const Product<T> p{sizes,
                       op.left.data<T>(),
                       op.x.data<T>(),
                       op.w.data<T>(),
                       op.bias.data<T>(),
                       op.y.data<T>(),
                       op.activation == Activation::relu};
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, block_dense<T>, p);
  });
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  const Sizes sizes{op.dy.rows(), op.skip(), op.blocks, op.w.rows() / op.blocks, op.w.columns()};
  const std::int64_t stride = op.w.elements() + op.blocks * op.w.columns();
  const RowParts ranges = row_parts(sizes.rows, stride, 256);
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const Gradient<T> p{sizes,
                        op.x.data<T>(),
                        op.w.data<T>(),
                        op.activation == Activation::relu ? op.y.data<T>() : nullptr,
                        op.dy.data<T>(),
                        op.dx.data<T>(),
                        op.dleft.data<T>(),
                        op.accumulate_dx,
                        op.accumulate_dleft};
    const auto blocks = [](std::int64_t n) { return blocks_for(n, threads); };
    if (op.dx.defined()) launch(context, blocks(sizes.rows * op.w.rows()), threads, 0, input_gradient<T>, p);
    if (op.dleft.defined()) launch(context, blocks(sizes.rows * sizes.skip), threads, 0, left_gradient<T>, p);
    if (ranges.count == 0 || !(op.dw.defined() || op.dbias.defined())) return;
    double* const sums = part_sums_memory(context, ranges.count, stride);
    launch(context, blocks(ranges.count * stride), threads, 0, weight_sums<T>, p, ranges, sums);
    add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, ranges.count, stride);
  });
}

const RegisterKernel<BlockDense> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<BlockDenseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace block_dense_plain_kernels
}  // namespace strobe::cuda
