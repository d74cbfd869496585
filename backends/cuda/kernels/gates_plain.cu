// Gates of a step-by-step recurrence: one thread a cell of the state, so that neighbouring threads read neighbouring
// columns of states and gates alike. Cost: one launch each; every value read once and written once.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations_gate.hpp"

namespace strobe::cuda {
namespace gates_plain_kernels {

constexpr int threads = 256;

template <class T>
__global__ void sigmoid(const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) y[i] = T{1} / (T{1} + std::exp(-x[i]));
}

template <class T>
__global__ void sigmoid_backward(const T* y, const T* dy, T* dx, std::int64_t n) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) dx[i] += dy[i] * y[i] * (T{1} - y[i]);
}

/// Cells of a state [R, h]; the gate of cell i lies at i / h * 2 h + i % h of gates [R, 2 h], h columns on for u.
struct Cells {
  std::int64_t count, width;
  __device__ std::int64_t reset_gate(std::int64_t i) const { return i + i / width * width; }
  __device__ std::int64_t update_gate(std::int64_t i) const { return reset_gate(i) + width; }
};

Cells cells_of(const Tensor& state) { return {state.elements(), state.columns()}; }

template <class T>
__global__ void reset_state(Cells cells, const T* gates, const T* state, T* reset) {
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    reset[i] = gates[cells.reset_gate(i)] * state[i];
  }
}

template <class T>
__global__ void reset_state_backward(Cells cells, const T* gates, const T* state, const T* dreset, T* dgates,
                                     T* dstate) {
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    const std::int64_t g = cells.reset_gate(i);
    dgates[g] += dreset[i] * state[i];
    if (dstate != nullptr) dstate[i] += dreset[i] * gates[g];
  }
}

template <class T>
__global__ void blend_state(Cells cells, const T* gates, const T* state, const T* a, T* candidate, T* next) {
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    const T u = gates[cells.update_gate(i)], squashed = std::tanh(a[i]);
    candidate[i] = squashed;
    next[i] = u * state[i] + (T{1} - u) * squashed;
  }
}

template <class T>
__global__ void blend_state_backward(Cells cells, const T* gates, const T* state, const T* candidate, const T* dnext,
                                     T* dgates, T* da, T* dstate) {
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    const std::int64_t g = cells.update_gate(i);
    const T u = gates[g], squashed = candidate[i], d = dnext[i];
    dgates[g] += d * (state[i] - squashed);
    da[i] += d * (T{1} - u) * (T{1} - squashed * squashed);
    if (dstate != nullptr) dstate[i] += d * u;
  }
}

void run_sigmoid(const Sigmoid& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.x.elements();
    launch(context, blocks_for(n, threads), threads, 0, sigmoid<T>, op.x.data<T>(), op.y.data<T>(), n);
  });
}

void run_sigmoid_backward(const SigmoidBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, sigmoid_backward<T>, op.y.data<T>(), op.dy.data<T>(),
           op.dx.data<T>(), n);
  });
}

void run_reset_state(const ResetState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.state);
    launch(context, blocks_for(cells.count, threads), threads, 0, reset_state<T>, cells, op.gates.data<T>(),
           op.state.data<T>(), op.reset.data<T>());
  });
}

void run_reset_state_backward(const ResetStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.state);
    launch(context, blocks_for(cells.count, threads), threads, 0, reset_state_backward<T>, cells, op.gates.data<T>(),
           op.state.data<T>(), op.dreset.data<T>(), op.dgates.data<T>(), op.dstate.data<T>());
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.state);
    launch(context, blocks_for(cells.count, threads), threads, 0, blend_state<T>, cells, op.gates.data<T>(),
           op.state.data<T>(), op.a.data<T>(), op.candidate.data<T>(), op.next.data<T>());
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.state);
    launch(context, blocks_for(cells.count, threads), threads, 0, blend_state_backward<T>, cells, op.gates.data<T>(),
           op.state.data<T>(), op.candidate.data<T>(), op.dnext.data<T>(), op.dgates.data<T>(), op.da.data<T>(),
           op.dstate.data<T>());
  });
}

const RegisterKernel<Sigmoid> sigmoid_plain{Numerics::cuda, {"plain", 0, nullptr, run_sigmoid}};
const RegisterKernel<SigmoidBackward> sigmoid_back_plain{Numerics::cuda, {"plain", 0, nullptr, run_sigmoid_backward}};
const RegisterKernel<ResetState> reset_plain{Numerics::cuda, {"plain", 0, nullptr, run_reset_state}};
const RegisterKernel<ResetStateBackward> reset_back_plain{Numerics::cuda,
                                                          {"plain", 0, nullptr, run_reset_state_backward}};
const RegisterKernel<BlendState> blend_plain{Numerics::cuda, {"plain", 0, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> blend_back_plain{Numerics::cuda,
                                                          {"plain", 0, nullptr, run_blend_state_backward}};

}  // namespace gates_plain_kernels
}  // namespace strobe::cuda
