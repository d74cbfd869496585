// Plain dense layer of parts side by side, and its gradient: the plain dense layer, which walks the parts in launches
// of up to `most_joined`; a longer list takes several. Forward: one thread an element of y. Backward: one thread an
// element of the parts' gradients; then one thread for every weight (and bias) of every range of rows, which sums in
// double, and a last launch that adds the ranges in order. Ranges depend on shapes only. Cost 2 R F G FLOPs per
// product; parts are read G times and dy F times, mostly from the cache.
#include "backends/cuda/kernels/dense/joined_parts.hpp"
#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace joined_dense_plain_kernels {

constexpr int threads = 256;

template <class T>
struct JoinedLayer {
  const T *w, *bias, *dy;
  T* y;
  std::int64_t rows, width;
};

/// y = bias + the parts' product, or y += it after the first launch.
template <class T>
__global__ void joined_dense(JoinedParts<T> parts, JoinedLayer<T> p) {
  for (std::int64_t i = grid_thread(); i < p.rows * p.width; i += grid_threads()) {
    const std::int64_t row = i / p.width, g = i % p.width;
    T sum = parts.first > 0 ? p.y[i] : p.bias != nullptr ? p.bias[g] : T{0};
    const T* w = p.w + parts.first * p.width + g;
    for (int k = 0; k < parts.count; ++k) {
      const T* x = parts.part[k] + row * parts.width(k);
      for (std::int64_t c = 0; c < parts.width(k); ++c, w += p.width) sum += x[c] * *w;
    }
    p.y[i] = sum;
  }
}

template <class T>
__global__ void part_gradients(JoinedParts<T> parts, JoinedLayer<T> p) {
  const std::int64_t columns = parts.columns();
  for (std::int64_t i = grid_thread(); i < p.rows * columns; i += grid_threads()) {
    const std::int64_t row = i / columns, column = i % columns;
    const int k = parts.holding(column);
    if (parts.gradient[k] == nullptr) continue;
    const T* w = p.w + (parts.first + column) * p.width;
    T sum{0};
    for (std::int64_t g = 0; g < p.width; ++g) sum += p.dy[row * p.width + g] * w[g];
    T& target = parts.gradient[k][row * parts.width(k) + column - parts.begin[k]];
    target = parts.accumulate[k] ? target + sum : sum;
  }
}

/// sums[range][f * G + g] of dw for the parts' rows f of w.
template <class T>
__global__ void joined_weight_sums(JoinedParts<T> parts, JoinedLayer<T> p, RowParts ranges, std::int64_t stride,
                                   double* sums) {
  const std::int64_t weights = parts.columns() * p.width;
  for (std::int64_t i = grid_thread(); i < ranges.count * weights; i += grid_threads()) {
    const std::int64_t range = i / weights, column = i % weights / p.width, g = i % p.width;
    const int k = parts.holding(column);
    const T* x = parts.part[k] + column - parts.begin[k];
    double sum = 0;
    for (std::int64_t r = ranges.begin(range); r < ranges.end(range); ++r)
      sum += static_cast<double>(x[r * parts.width(k)]) * static_cast<double>(p.dy[r * p.width + g]);
    sums[range * stride + (parts.first + column) * p.width + g] = sum;
  }
}

/// sums[range][F * G + g] of dbias.
template <class T>
__global__ void joined_bias_sums(JoinedLayer<T> p, RowParts ranges, std::int64_t stride, double* sums) {
  for (std::int64_t i = grid_thread(); i < ranges.count * p.width; i += grid_threads()) {
    const std::int64_t range = i / p.width, g = i % p.width;
    double sum = 0;
    for (std::int64_t r = ranges.begin(range); r < ranges.end(range); ++r)
      sum += static_cast<double>(p.dy[r * p.width + g]);
    sums[range * stride + stride - p.width + g] = sum;
  }
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const JoinedLayer<T> layer{op.w.data<T>(), op.bias.data<T>(), nullptr, op.y.data<T>(), op.y.rows(), op.y.columns()};
    for_joined<T>(op.parts, {}, {}, [&](const JoinedParts<T>& parts) {
      launch(context, blocks_for(op.y.elements(), threads), threads, 0, joined_dense<T>, parts, layer);
    });
  });
}

template <class T>
void run_backward_as(const JoinedDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), stride = op.w.elements() + op.w.columns();
  const RowParts ranges = row_parts(rows, stride, 256);
  if (ranges.count == 0) return;
  const JoinedLayer<T> layer{op.w.data<T>(), nullptr, op.dy.data<T>(), nullptr, rows, op.w.columns()};
  double* const sums = part_sums_memory(context, ranges.count, stride);
  for_joined<T>(op.parts, op.dparts, op.accumulate, [&](const JoinedParts<T>& parts) {
    if (parts.wants_gradients()) {
      launch(context, blocks_for(rows * parts.columns(), threads), threads, 0, part_gradients<T>, parts, layer);
    }
    launch(context, blocks_for(ranges.count * parts.columns() * layer.width, threads), threads, 0,
           joined_weight_sums<T>, parts, layer, ranges, stride, sums);
  });
  if (op.dbias.defined()) {
    launch(context, blocks_for(ranges.count * layer.width, threads), threads, 0, joined_bias_sums<T>, layer, ranges,
           stride, sums);
  }
  add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, ranges.count, stride);
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<JoinedDense> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace joined_dense_plain_kernels
}  // namespace strobe::cuda
