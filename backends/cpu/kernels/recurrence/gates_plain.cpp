// Gates of a step-by-step recurrence, row by row; ranges of rows are tasks. Cost: each value read and written once.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_gate.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;
using cpu::with_element;

constexpr std::int64_t rows_per_task = 1 << 12;

/// Calls body(cell, gate) for every value of a state [R, h], `gate` being the place of its r in a [R, 2 h] matrix.
template <class Body>
void each_cell(const Tensor& state, const KernelContext& context, const Body& body) {
  const std::int64_t h = state.columns();
  for_ranges(context, state.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < h; ++c) body(r * h + c, r * 2 * h + c);
    }
  });
}

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// Stores `value`, or adds it.
template <class T>
void put(T& to, T value, bool accumulate) {
  to = accumulate ? to + value : value;
}

void run_gates(const GruGates& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = op.a.data<T>(), *state = op.state.data<T>();
    T *r = op.r.data<T>(), *u = op.u.data<T>(), *reset = op.reset.data<T>();
    const std::int64_t h = op.state.columns();
    each_cell(op.state, context, [=](std::int64_t i, std::int64_t g) {
      r[i] = sigmoid(a[g]);
      u[i] = sigmoid(a[g + h]);
      reset[i] = r[i] * state[i];
    });
  });
}

void run_gates_backward(const GruGatesBackward& op, KernelContext& context) {
  with_element(op.u.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *r = op.r.data<T>(), *u = op.u.data<T>(), *state = op.state.data<T>(), *du = op.du.data<T>();
    const T* dreset = op.dreset.data<T>();
    T *da = op.da.data<T>(), *dstate = dreset != nullptr ? op.dstate.data<T>() : nullptr;
    const std::int64_t h = op.u.columns();
    each_cell(op.u, context, [=, &op](std::int64_t i, std::int64_t g) {
      const T d = dreset != nullptr ? dreset[i] : T{0};
      put(da[g], d * state[i] * r[i] * (T{1} - r[i]), op.accumulate_da);
      put(da[g + h], du[i] * u[i] * (T{1} - u[i]), op.accumulate_da);
      if (dstate != nullptr) put(dstate[i], d * r[i], op.accumulate_dstate);
    });
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *u = op.u.data<T>(), *state = op.state.data<T>(), *a = op.a.data<T>();
    T *candidate = op.candidate.data<T>(), *next = op.next.data<T>();
    each_cell(op.state, context, [=](std::int64_t i, std::int64_t) {
      candidate[i] = std::tanh(a[i]);
      next[i] = u[i] * state[i] + (T{1} - u[i]) * candidate[i];
    });
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *u = op.u.data<T>(), *state = op.state.data<T>();
    const T *candidate = op.candidate.data<T>(), *dnext = op.dnext.data<T>();
    T *du = op.du.data<T>(), *da = op.da.data<T>(), *dstate = op.dstate.data<T>();
    each_cell(op.state, context, [=, &op](std::int64_t i, std::int64_t) {
      put(du[i], dnext[i] * (state[i] - candidate[i]), op.accumulate_du);
      put(da[i], dnext[i] * (T{1} - u[i]) * (T{1} - candidate[i] * candidate[i]), op.accumulate_da);
      if (dstate != nullptr) put(dstate[i], dnext[i] * u[i], op.accumulate_dstate);
    });
  });
}

const RegisterKernel<GruGates> gru_gates{"cpu", {"plain", 0, nullptr, run_gates}};
const RegisterKernel<GruGatesBackward> gru_gates_backward{"cpu", {"plain", 0, nullptr, run_gates_backward}};
const RegisterKernel<BlendState> blend_state{"cpu", {"plain", 0, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> blend_state_backward{"cpu", {"plain", 0, nullptr, run_blend_state_backward}};

}  // namespace
}  // namespace strobe
