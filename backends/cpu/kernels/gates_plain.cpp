// Gates of a step-by-step recurrence, row by row; ranges of rows are tasks. Cost: each value read and written once.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations_gate.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;
using cpu::with_element;

constexpr std::int64_t rows_per_task = 1 << 12;

void run_sigmoid(const Sigmoid& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = op.x.data<T>();
    T* y = op.y.data<T>();
    for_ranges(context, op.x.elements(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = T{1} / (T{1} + std::exp(-x[i]));
    });
  });
}

void run_sigmoid_backward(const SigmoidBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *y = op.y.data<T>(), *dy = op.dy.data<T>();
    T* dx = op.dx.data<T>();
    for_ranges(context, op.y.elements(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dx[i] += dy[i] * y[i] * (T{1} - y[i]);
    });
  });
}

/// Calls body(cell, gate) for every value of a state [R, h], `gate` being its place in a [R, 2 h] matrix, shifted by
/// `shift` columns.
template <class Body>
void each_cell(const Tensor& state, std::int64_t shift, const KernelContext& context, const Body& body) {
  const std::int64_t h = state.columns();
  for_ranges(context, state.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < h; ++c) body(r * h + c, r * 2 * h + shift + c);
    }
  });
}

void run_reset_state(const ResetState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    T* reset = op.reset.data<T>();
    each_cell(op.state, 0, context, [=](std::int64_t i, std::int64_t g) { reset[i] = gates[g] * state[i]; });
  });
}

void run_reset_state_backward(const ResetStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>(), *dreset = op.dreset.data<T>();
    T* dgates = op.dgates.data<T>();
    T* dstate = op.dstate.defined() ? op.dstate.data<T>() : nullptr;
    each_cell(op.state, 0, context, [=](std::int64_t i, std::int64_t g) {
      dgates[g] += dreset[i] * state[i];
      if (dstate != nullptr) dstate[i] += dreset[i] * gates[g];
    });
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>(), *a = op.a.data<T>();
    T *candidate = op.candidate.data<T>(), *next = op.next.data<T>();
    each_cell(op.state, op.state.columns(), context, [=](std::int64_t i, std::int64_t g) {
      candidate[i] = std::tanh(a[i]);
      next[i] = gates[g] * state[i] + (T{1} - gates[g]) * candidate[i];
    });
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    const T *candidate = op.candidate.data<T>(), *dnext = op.dnext.data<T>();
    T *dgates = op.dgates.data<T>(), *da = op.da.data<T>();
    T* dstate = op.dstate.defined() ? op.dstate.data<T>() : nullptr;
    each_cell(op.state, op.state.columns(), context, [=](std::int64_t i, std::int64_t g) {
      dgates[g] += dnext[i] * (state[i] - candidate[i]);
      da[i] += dnext[i] * (T{1} - gates[g]) * (T{1} - candidate[i] * candidate[i]);
      if (dstate != nullptr) dstate[i] += dnext[i] * gates[g];
    });
  });
}

const RegisterKernel<Sigmoid> sigmoid{Numerics::cpu, {"plain", 0, nullptr, run_sigmoid}};
const RegisterKernel<SigmoidBackward> sigmoid_backward{Numerics::cpu, {"plain", 0, nullptr, run_sigmoid_backward}};
const RegisterKernel<ResetState> reset_state{Numerics::cpu, {"plain", 0, nullptr, run_reset_state}};
const RegisterKernel<ResetStateBackward> reset_state_backward{Numerics::cpu,
                                                              {"plain", 0, nullptr, run_reset_state_backward}};
const RegisterKernel<BlendState> blend_state{Numerics::cpu, {"plain", 0, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> blend_state_backward{Numerics::cpu,
                                                              {"plain", 0, nullptr, run_blend_state_backward}};

}  // namespace
}  // namespace strobe
