// Gradient of a graph convolution in its two steps: the dense layer's gradient, which writes ds = dz w^T to the scratch
// of the operation, and the transposed product that gathers from it, each by the best kernel for it. For matrices
// without pairs of steps (graph_convolution_backward_paired.cpp). Cost 2 F (nnz + 2 R G) FLOPs; ds is written and read
// once more.
#include "backends/kernel.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

template <class Op>
void run_best(const Op& op, KernelContext& context) {
  Kernels<Op>::choose(context.numerics, op, "").run(op, context);
}

void run(const GraphConvolutionBackward& op, KernelContext& context) {
  DenseBackward dense;
  dense.x = op.aggregated;
  dense.w = op.w;
  dense.y = op.y;
  dense.dy = op.dy;
  dense.dx = op.ds;
  dense.dw = op.dw;
  dense.activation = op.activation;
  run_best(dense, context);
  run_best(SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

const RegisterKernel<GraphConvolutionBackward> composed{
    "cpu", {"composed", 10, [](const GraphConvolutionBackward& op) { return op.ds.defined(); }, run}};

}  // namespace
}  // namespace strobe
