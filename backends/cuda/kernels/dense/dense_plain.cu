// Plain dense layer and its gradient. Forward: one thread an element of y. Backward: one thread an element of dx; then
// one thread for every weight (and bias) of every range of rows, which sums in double, and a last launch that adds the
// ranges in order. Ranges depend on shapes only. Cost 2 R F G FLOPs per product; one launch forward, three
// backward; x is read G times and dy F times, mostly from the cache.
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {
namespace dense_plain_kernels {

constexpr int threads = 256;

template <class T>
struct Product {
  const T *x, *w, *bias;
  T* y;
  std::int64_t rows, inner, width;
  bool relu;
};

template <class T>
__global__ void dense(Product<T> p) {
  for (std::int64_t i = grid_thread(); i < p.rows * p.width; i += grid_threads()) {
    const std::int64_t row = i / p.width, g = i % p.width;
    T sum = p.bias != nullptr ? p.bias[g] : T{0};
    for (std::int64_t f = 0; f < p.inner; ++f) sum += p.x[row * p.inner + f] * p.w[f * p.width + g];
    p.y[i] = activated(sum, p.relu);
  }
}

template <class T>
struct Gradient {
  const T *x, *w, *y, *dy;  // y is null without activation
  T* dx;
  std::int64_t rows, inner, width;
  bool accumulate_dx;
};

template <class T>
__global__ void input_gradient(Gradient<T> p) {
  for (std::int64_t i = grid_thread(); i < p.rows * p.inner; i += grid_threads()) {
    const std::int64_t row = i / p.inner, f = i % p.inner;
    T sum{0};
    for (std::int64_t g = 0; g < p.width; ++g) {
      sum += through_activation(p.y, p.dy, row * p.width + g) * p.w[f * p.width + g];
    }
    p.dx[i] = p.accumulate_dx ? p.dx[i] + sum : sum;
  }
}

/// sums[range][f * G + g] for f < F are of dw, for f = F of dbias.
template <class T>
__global__ void weight_sums(Gradient<T> p, RowParts ranges, double* sums) {
  const std::int64_t stride = (p.inner + 1) * p.width;
  for (std::int64_t i = grid_thread(); i < ranges.count * stride; i += grid_threads()) {
    const std::int64_t range = i / stride, f = i % stride / p.width, g = i % p.width;
    double sum = 0;
    for (std::int64_t r = ranges.begin(range); r < ranges.end(range); ++r) {
      const double dz = through_activation(p.y, p.dy, r * p.width + g);
      sum += f == p.inner ? dz : static_cast<double>(p.x[r * p.inner + f]) * dz;
    }
    sums[i] = sum;
  }
}

void run_dense(const Dense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Product<T> p{op.x.data<T>(), op.w.data<T>(), op.bias.data<T>(), op.y.data<T>(),
                       op.y.rows(),    op.x.columns(), op.y.columns(),    op.activation == Activation::relu};
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, dense<T>, p);
  });
}

void run_dense_backward(const DenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), stride = op.w.elements() + op.w.columns();
  const RowParts ranges = row_parts(rows, stride, 256);
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* y = op.activation == Activation::relu ? op.y.data<T>() : nullptr;
    const Gradient<T> p{op.x.data<T>(), op.w.data<T>(),  y, op.dy.data<T>(), op.dx.data<T>(), rows, op.w.rows(),
                        op.w.columns(), op.accumulate_dx};
    if (op.dx.defined()) {
      launch(context, blocks_for(op.dx.elements(), threads), threads, 0, input_gradient<T>, p);
    }
    if (ranges.count == 0 || !(op.dw.defined() || op.dbias.defined())) return;
    double* const sums = part_sums_memory(context, ranges.count, stride);
    launch(context, blocks_for(ranges.count * stride, threads), threads, 0, weight_sums<T>, p, ranges, sums);
    add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, ranges.count, stride);
  });
}

const RegisterKernel<Dense> plain{"cuda", {"plain", 0, nullptr, run_dense}};
const RegisterKernel<DenseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_dense_backward}};

}  // namespace dense_plain_kernels
}  // namespace strobe::cuda
