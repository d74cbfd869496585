// Graph convolution with one weight per step, and its gradient, each composed of two operations of one numerics: the
// sparse product (of x, or of a dense layer's output) and the dense layer of every step. `variant` is "plain" for the
// judges' kernels, empty for the best. Cost: that of the two; aggregated rows, and backward ds, are written and read
// once more than in a fused kernel.
#pragma once

#include "backends/kernel.hpp"
#include "backends/operations/operations_evolve.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {

template <class Op>
void run_variant(Numerics numerics, const char* variant, const Op& op, KernelContext& context) {
  Kernels<Op>::choose(numerics, op, variant).run(op, context);
}

/// The gradient of the operation's dense layer, from dy to ds.
template <class Op>
StepDenseBackward dense_backward_of(const Op& op) {
  StepDenseBackward dense;
  dense.x = op.aggregated, dense.w = op.w, dense.step_rows = op.step_rows, dense.y = op.y, dense.dy = op.dy;
  dense.dx = op.ds, dense.dw = op.dw;
  dense.activation = op.activation;
  dense.accumulate_dw = op.accumulate_dw;
  return dense;
}

/// Shapes are the operation's. Throws Unavailable when the numerics lacks a kernel.
inline void run_composed(Numerics numerics, const char* variant, const StepGraphConvolution& op,
                         KernelContext& context) {
  run_variant(numerics, variant, Spmm{op.a, op.x, op.aggregated, false}, context);
  run_variant(numerics, variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

inline void run_composed(Numerics numerics, const char* variant, const StepGraphConvolutionBackward& op,
                         KernelContext& context) {
  run_variant(numerics, variant, dense_backward_of(op), context);
  run_variant(numerics, variant, SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

inline void run_composed(Numerics numerics, const char* variant, const StepConvolutionOfDense& op,
                         KernelContext& context) {
  run_variant(numerics, variant, SpmmOfDense{op.a, op.x, op.w_first, {}, op.step_rows, op.aggregated, op.first},
              context);
  run_variant(numerics, variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

inline void run_composed(Numerics numerics, const char* variant, const StepConvolutionOfDenseBackward& op,
                         KernelContext& context) {
  if (!op.kept) {
    run_variant(numerics, variant, SpmmOfDense{op.a, op.x, op.w_first, {}, op.step_rows, op.aggregated, op.first},
                context);
  }
  run_variant(numerics, variant, dense_backward_of(op), context);
  SpmmOfDenseBackward product;
  product.a = op.a, product.x = op.x, product.w = op.w_first, product.step_rows = op.step_rows, product.dy = op.ds;
  product.dw = op.dw_first;
  product.activation = op.first;
  product.accumulate_dw = op.accumulate_dw_first;
  run_variant(numerics, variant, product, context);
}

/// Registers the kernel "plain" of one of these operations: its judge.
template <class Op, Numerics numerics>
struct RegisterComposedJudge {
  static void run_plain(const Op& op, KernelContext& context) { run_composed(numerics, "plain", op, context); }

  const RegisterKernel<Op> plain{numerics, {"plain", 0, nullptr, run_plain}};
};

/// Registers the kernels "plain" and "composed", for operations without a better kernel for every call.
template <class Op, Numerics numerics>
struct RegisterComposed : RegisterComposedJudge<Op, numerics> {
  static void run_best(const Op& op, KernelContext& context) { run_composed(numerics, "", op, context); }

  const RegisterKernel<Op> composed{numerics, {"composed", 5, nullptr, run_best}};
};

}  // namespace strobe
