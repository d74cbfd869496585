// Graph convolution with one weight per step, and its gradient, as the two operations that each consists of: the sparse
// product and the dense layer of every step, by kernels of one numerics. `variant` is "plain" for the judges' kernels,
// empty for the best. Cost: those of the two; aggregated rows, and backward ds, are written and read once more than
// where both are one.
#pragma once

#include "backends/kernel.hpp"
#include "backends/operations_evolve.hpp"
#include "backends/operations_fused.hpp"

namespace strobe {

template <class Op>
void run_variant(Numerics numerics, const char* variant, const Op& op, KernelContext& context) {
  Kernels<Op>::choose(numerics, op, variant).run(op, context);
}

/// Shapes as in the operation. Throws Unavailable where the numerics lacks a kernel.
inline void run_composed(Numerics numerics, const char* variant, const StepGraphConvolution& op,
                         KernelContext& context) {
  run_variant(numerics, variant, Spmm{op.a, op.x, op.aggregated, false}, context);
  run_variant(numerics, variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

inline void run_composed(Numerics numerics, const char* variant, const StepGraphConvolutionBackward& op,
                         KernelContext& context) {
  StepDenseBackward dense;
  dense.x = op.aggregated, dense.w = op.w, dense.step_rows = op.step_rows, dense.y = op.y, dense.dy = op.dy;
  dense.dx = op.ds, dense.dw = op.dw;
  dense.activation = op.activation;
  dense.accumulate_dw = op.accumulate_dw;
  run_variant(numerics, variant, dense, context);
  run_variant(numerics, variant, SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

/// The kernels "plain" and "composed" of one of the two operations.
template <class Op, Numerics numerics>
struct RegisterComposed {
  static void run_plain(const Op& op, KernelContext& context) { run_composed(numerics, "plain", op, context); }
  static void run_best(const Op& op, KernelContext& context) { run_composed(numerics, "", op, context); }

  const RegisterKernel<Op> plain{numerics, {"plain", 0, nullptr, run_plain}};
  const RegisterKernel<Op> composed{numerics, {"composed", 5, nullptr, run_best}};
};

}  // namespace strobe
