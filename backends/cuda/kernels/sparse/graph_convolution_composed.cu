// Graph convolution and its gradient as the operations that they consist of, each with its best kernel. Forward, for
// layers too wide for the fused kernel: the sparse product into `aggregated`, then the dense layer. Backward: the dense
// layer's gradient, with ds for its input, then the transposed product, which gathers whole rows of ds. Cost: those of
// the two; A x or ds crosses memory twice.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace graph_convolution_composed_kernels {

template <class Op>
void run_best(const Op& op, KernelContext& context) {
  Kernels<Op>::choose(context.numerics, op, "").run(op, context);
}

void run_forward(const GraphConvolution& op, KernelContext& context) {
  run_best(Spmm{op.a, op.x, op.aggregated, false}, context);
  run_best(Dense{op.aggregated, op.w, {}, op.y, op.activation}, context);
}

void run_backward(const GraphConvolutionBackward& op, KernelContext& context) {
  run_best(DenseBackward{op.aggregated, op.w, op.y, op.dy, op.ds, op.dw, {}, op.activation, false}, context);
  run_best(SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

/// Where graph_convolution_rows.cu is not better.
bool is_wide(const Tensor& w) { return w.rows() > warp_lanes || w.columns() > warp_lanes; }

bool supports_forward(const GraphConvolution& op) { return op.aggregated.defined() && is_wide(op.w); }
bool supports_backward(const GraphConvolutionBackward& op) { return op.ds.defined(); }

const RegisterKernel<GraphConvolution> composed{"cuda", {"composed", 5, supports_forward, run_forward}};
const RegisterKernel<GraphConvolutionBackward> composed_backward{"cuda",
                                                                 {"composed", 5, supports_backward, run_backward}};

}  // namespace graph_convolution_composed_kernels
}  // namespace strobe::cuda
