// Gradient of the graph convolution for up to 32 columns on both sides where the transpose is stored: one launch reads
// aggregated, dy and y once and makes ds and the partial sums of dw (weight_tiles.hpp), one gathers dx = A^T ds with
// several rows a warp (spmm_rows.cu), one adds up dw. Compulsory bytes: matrix, aggregated, dy, y, dx once; beyond them
// ds once out and once per entry in. Launches: 3.
#include "backends/cuda/kernels/weight_tiles.hpp"
#include "backends/operations_fused.hpp"

namespace strobe::cuda {
namespace graph_convolution_backward_rows_kernels {

template <class T>
void weight_gradient(const GraphConvolutionBackward& op, const KernelContext& context) {
  const RowParts ranges = weight_ranges(op.a.rows, op.w.rows(), op.w.columns());
  auto* const sums =
      reinterpret_cast<double*>(context.scratch(scratch_part(ranges.count * op.w.elements(), sizeof(double))));
  const WeightTerms<T> terms{op.aggregated.data<T>(), op.dy.data<T>(),
                             op.activation == Activation::relu ? op.y.data<T>() : nullptr, op.w.rows(), op.w.columns()};
  tiled_weight_gradient<T>(context, terms, op.w.data<T>(), op.ds.data<T>(), ranges, sums, op.dw.data<T>());
}

void run(const GraphConvolutionBackward& op, KernelContext& context) {
  with_element(op.dx.type(), [&](auto zero) { weight_gradient<decltype(zero)>(op, context); });
  const SpmmTransposed product{op.a, op.ds, op.dx, op.accumulate_dx};
  Kernels<SpmmTransposed>::choose(Numerics::cuda, product, "rows").run(product, context);
}

bool supports(const GraphConvolutionBackward& op) {
  return takes_tiles(op.w.rows(), op.w.columns()) && op.ds.defined() && op.a.transposed_offsets.defined();
}

const RegisterKernel<GraphConvolutionBackward> rows{Numerics::cuda, {"rows", 10, supports, run}};

}  // namespace graph_convolution_backward_rows_kernels
}  // namespace strobe::cuda
