// Plain graph convolution y = activation((A x) w) and its gradient, one step after the other: the sparse product (into
// `aggregated`, or scratch memory when it is not kept), then one thread per value of the dense product. Backward: ds =
// dz w^T, dx = A^T ds, dw by sums of row ranges. Cost 2 F (nnz + R G) FLOPs; A x crosses memory twice. Launches: 2;
// 4 or 5 backward.
#include "backends/cuda/kernels/dense/weight_sums.hpp"
#include "backends/cuda/kernels/sparse/compressed.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace graph_convolution_plain_kernels {

constexpr int threads = 256;

/// y[rows, width] = activation(s[rows, inner] w[inner, width]).
template <class T>
__global__ void dense_product(const T* s, const T* w, T* y, std::int64_t rows, std::int64_t inner, std::int64_t width,
                              bool relu) {
  for (std::int64_t i = grid_thread(); i < rows * width; i += grid_threads()) {
    const std::int64_t row = i / width, g = i % width;
    T sum{0};
    for (std::int64_t f = 0; f < inner; ++f) sum += s[row * inner + f] * w[f * width + g];
    y[i] = relu && sum < T{0} ? T{0} : sum;  // keeps NaN
  }
}

/// ds[rows, inner] = dz w^T with dz = dy where y > 0, or dy without a y.
template <class T>
__global__ void dense_gradient(WeightTerms<T> terms, const T* w, T* ds, std::int64_t rows) {
  for (std::int64_t i = grid_thread(); i < rows * terms.inner; i += grid_threads()) {
    const std::int64_t row = i / terms.inner, f = i % terms.inner;
    T sum{0};
    for (std::int64_t g = 0; g < terms.width; ++g) {
      const std::int64_t at = row * terms.width + g;
      if (terms.y == nullptr || terms.y[at] > T{0}) sum += terms.dz[at] * w[f * terms.width + g];
    }
    ds[i] = sum;
  }
}

template <class T>
void convolve(const GraphConvolution& op, const KernelContext& context) {
  const std::int64_t rows = op.a.rows, inner = op.x.columns(), width = op.w.columns();
  T* const sums = op.aggregated.defined()
                      ? op.aggregated.data<T>()
                      : reinterpret_cast<T*>(context.scratch(scratch_part(rows * inner, sizeof(T))));
  launch(context, blocks_for(rows * inner, threads), threads, 0, gather_values<T>, compressed<T>(op.a), op.x.data<T>(),
         sums, inner, false);
  launch(context, blocks_for(rows * width, threads), threads, 0, dense_product<T>, sums, op.w.data<T>(), op.y.data<T>(),
         rows, inner, width, op.activation == Activation::relu);
}

template <class T>
void convolve_backward(const GraphConvolutionBackward& op, const KernelContext& context) {
  const std::int64_t rows = op.a.rows, inner = op.w.rows(), width = op.w.columns();
  const RowParts ranges = weight_ranges(rows, inner, width);
  const std::size_t sum_bytes = scratch_part(ranges.count * inner * width, sizeof(double));
  const std::size_t ds_bytes = op.ds.defined() ? 0 : scratch_part(rows * inner, sizeof(T));
  std::byte* const scratch = context.scratch(sum_bytes + ds_bytes);
  T* const ds = op.ds.defined() ? op.ds.data<T>() : reinterpret_cast<T*>(scratch + sum_bytes);
  const WeightTerms<T> terms{op.aggregated.data<T>(), op.dy.data<T>(),
                             op.activation == Activation::relu ? op.y.data<T>() : nullptr, inner, width};
  launch(context, blocks_for(rows * inner, threads), threads, 0, dense_gradient<T>, terms, op.w.data<T>(), ds, rows);
  plain_transposed_product<T>(op.a, ds, op.dx.data<T>(), inner, op.accumulate_dx, context);
  plain_weight_gradient(context, terms, ranges, reinterpret_cast<double*>(scratch), op.dw.data<T>());
}

void run_forward(const GraphConvolution& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { convolve<decltype(zero)>(op, context); });
}

void run_backward(const GraphConvolutionBackward& op, KernelContext& context) {
  with_element(op.dx.type(), [&](auto zero) { convolve_backward<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphConvolution> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GraphConvolutionBackward> plain_backward{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace graph_convolution_plain_kernels
}  // namespace strobe::cuda
