// Graph convolution with one weight per step and its gradient as the operations that they consist of: the sparse product
// into `aggregated` and the dense layer of every step, each by its best kernel (`composed`) or the plain one (`plain`).
// Cost: those of the two; A x, or ds, crosses memory twice.
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations_evolve.hpp"
#include "backends/operations_fused.hpp"

namespace strobe::cuda {
namespace step_graph_convolution_kernels {

template <class Op>
void run_as(const char* variant, const Op& op, KernelContext& context) {
  Kernels<Op>::choose(Numerics::cuda, op, variant).run(op, context);
}

void forward(const char* variant, const StepGraphConvolution& op, KernelContext& context) {
  run_as(variant, Spmm{op.a, op.x, op.aggregated, false}, context);
  run_as(variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

void backward(const char* variant, const StepGraphConvolutionBackward& op, KernelContext& context) {
  run_as(variant,
         StepDenseBackward{op.aggregated, op.w, op.step_rows, op.y, op.dy, op.ds, op.dw, op.activation, false,
                           op.accumulate_dw},
         context);
  run_as(variant, SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

void run_plain(const StepGraphConvolution& op, KernelContext& context) { forward("plain", op, context); }
void run_best(const StepGraphConvolution& op, KernelContext& context) { forward("", op, context); }
void run_plain_backward(const StepGraphConvolutionBackward& op, KernelContext& context) {
  backward("plain", op, context);
}
void run_best_backward(const StepGraphConvolutionBackward& op, KernelContext& context) { backward("", op, context); }

const RegisterKernel<StepGraphConvolution> plain{Numerics::cuda, {"plain", 0, nullptr, run_plain}};
const RegisterKernel<StepGraphConvolution> composed{Numerics::cuda, {"composed", 5, nullptr, run_best}};
const RegisterKernel<StepGraphConvolutionBackward> backward_plain{Numerics::cuda,
                                                                  {"plain", 0, nullptr, run_plain_backward}};
const RegisterKernel<StepGraphConvolutionBackward> backward_composed{Numerics::cuda,
                                                                     {"composed", 5, nullptr, run_best_backward}};

}  // namespace step_graph_convolution_kernels
}  // namespace strobe::cuda
