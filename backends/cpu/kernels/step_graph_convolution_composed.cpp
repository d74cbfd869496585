// Graph convolution with one weight per step, and its gradient, in two operations: the sparse product and the dense
// layer of every step, each by the best kernel for it (`composed`) or the plain one (`plain`, the judge). Aggregated
// rows, and backward ds, are written and read once more than where they are one (step_graph_convolution_paired.cpp).
#include "backends/kernel.hpp"
#include "backends/operations_evolve.hpp"
#include "backends/operations_fused.hpp"

namespace strobe {
namespace {

template <class Op>
void run_as(const char* variant, const Op& op, KernelContext& context) {
  Kernels<Op>::choose(Numerics::cpu, op, variant).run(op, context);
}

void forward(const char* variant, const StepGraphConvolution& op, KernelContext& context) {
  run_as(variant, Spmm{op.a, op.x, op.aggregated, false}, context);
  run_as(variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

void backward(const char* variant, const StepGraphConvolutionBackward& op, KernelContext& context) {
  StepDenseBackward dense;
  dense.x = op.aggregated, dense.w = op.w, dense.step_rows = op.step_rows, dense.y = op.y, dense.dy = op.dy;
  dense.dx = op.ds, dense.dw = op.dw;
  dense.activation = op.activation;
  dense.accumulate_dw = op.accumulate_dw;
  run_as(variant, dense, context);
  run_as(variant, SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

const RegisterKernel<StepGraphConvolution> plain{
    Numerics::cpu, {"plain", 0, nullptr, [](const StepGraphConvolution& op, KernelContext& context) {
                      forward("plain", op, context);
                    }}};
const RegisterKernel<StepGraphConvolution> composed{
    Numerics::cpu, {"composed", 10, nullptr, [](const StepGraphConvolution& op, KernelContext& context) {
                      forward("", op, context);
                    }}};
const RegisterKernel<StepGraphConvolutionBackward> backward_plain{
    Numerics::cpu, {"plain", 0, nullptr, [](const StepGraphConvolutionBackward& op, KernelContext& context) {
                      backward("plain", op, context);
                    }}};
const RegisterKernel<StepGraphConvolutionBackward> backward_composed{
    Numerics::cpu, {"composed", 10, nullptr, [](const StepGraphConvolutionBackward& op, KernelContext& context) {
                      backward("", op, context);
                    }}};

}  // namespace
}  // namespace strobe
