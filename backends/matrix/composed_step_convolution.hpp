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
void run_variant(const char* variant, const Op& op, KernelContext& context) {
  Kernels<Op>::choose(context.numerics, op, variant).run(op, context);
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
inline void run_composed(const char* variant, const StepGraphConvolution& op, KernelContext& context) {
  run_variant(variant, Spmm{op.a, op.x, op.aggregated, false}, context);
  run_variant(variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

inline void run_composed(const char* variant, const StepGraphConvolutionBackward& op, KernelContext& context) {
  run_variant(variant, dense_backward_of(op), context);
  run_variant(variant, SpmmTransposed{op.a, op.ds, op.dx, op.accumulate_dx}, context);
}

inline void run_composed(const char* variant, const StepConvolutionOfDense& op, KernelContext& context) {
  run_variant(variant, SpmmOfDense{op.a, op.x, op.w_first, {}, op.step_rows, op.aggregated, op.first}, context);
  run_variant(variant, StepDense{op.aggregated, op.w, op.step_rows, op.y, op.activation}, context);
}

inline void run_composed(const char* variant, const StepConvolutionOfDenseBackward& op, KernelContext& context) {
  if (!op.kept) {
    run_variant(variant, SpmmOfDense{op.a, op.x, op.w_first, {}, op.step_rows, op.aggregated, op.first}, context);
  }
  run_variant(variant, dense_backward_of(op), context);
  SpmmOfDenseBackward product;
  product.a = op.a, product.x = op.x, product.w = op.w_first, product.step_rows = op.step_rows, product.dy = op.ds;
  product.dw = op.dw_first;
  product.activation = op.first;
  product.accumulate_dw = op.accumulate_dw_first;
  run_variant(variant, product, context);
}

/// Registers the kernel "plain" of one of these operations: its judge.
template <class Op>
struct RegisterComposedJudge {
  static void run_plain(const Op& op, KernelContext& context) { run_composed("plain", op, context); }

  explicit RegisterComposedJudge(Numerics numerics) : plain{numerics, {"plain", 0, nullptr, run_plain}} {}

  const RegisterKernel<Op> plain;
};

/// Registers the kernels "plain" and "composed", for operations without a better kernel for every call.
template <class Op>
struct RegisterComposed : RegisterComposedJudge<Op> {
  static void run_best(const Op& op, KernelContext& context) { run_composed("", op, context); }

  explicit RegisterComposed(Numerics numerics)
      : RegisterComposedJudge<Op>(numerics), composed{numerics, {"composed", 5, nullptr, run_best}} {}

  const RegisterKernel<Op> composed;
};

}  // namespace strobe
