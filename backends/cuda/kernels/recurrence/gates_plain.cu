// Gates of a step-by-step recurrence: one thread a cell of the state, so that neighbouring threads read neighbouring
// columns of states and gates alike. A thread begins all its loads before it stores: what it stores might, for all that
// the compiler knows, be what it loads next. Cost: one launch each; every value read once and written once.
#include "backends/cuda/kernels/recurrence/gate_values.hpp"
#include "backends/operations/operations_gate.hpp"

namespace strobe::cuda {
namespace gates_plain_kernels {

constexpr int threads = 256;

/// Cells of a state [R, h]; r of cell i lies at i / h * 2 h + i % h of a [R, 2 h] matrix, u h columns on.
struct Cells {
  std::int64_t count, width;
  __device__ std::int64_t reset_gate(std::int64_t i) const { return i + i / width * width; }
};

Cells cells_of(const Tensor& state) { return {state.elements(), state.columns()}; }

template <class T>
__global__ void gru_gates(Cells cells, const T* a, const T* state, T* r, T* u, T* reset) {
#pragma unroll 1  // one turn up to 2^28 cells
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    const std::int64_t g = cells.reset_gate(i);
    const T opening = a[g], update = a[g + cells.width], old = state[i];
    const T open = sigmoid(opening);
    r[i] = open;
    u[i] = sigmoid(update);
    reset[i] = open * old;
  }
}

/// The inputs of GruGatesBackward; `dreset` may be null.
template <class T>
struct GateValues {
  const T *r, *u, *state, *dreset, *du;
};

template <class T>
__global__ void gru_gates_backward(Cells cells, GateValues<T> in, Target<T> da, Target<T> dstate) {
#pragma unroll 1  // one turn up to 2^28 cells
  for (std::int64_t i = grid_thread(); i < cells.count; i += grid_threads()) {
    const std::int64_t g = cells.reset_gate(i);
    const T r = in.r[i], u = in.u[i], d = in.dreset != nullptr ? in.dreset[i] : T{0};
    const T old = in.state[i], du = in.du[i], dstate_before = dstate.before(i);
    const T opening_before = da.before(g), update_before = da.before(g + cells.width);
    da.put(g, d * old * r * (T{1} - r), opening_before);
    da.put(g + cells.width, du * u * (T{1} - u), update_before);
    dstate.put(i, d * r, dstate_before);
  }
}

template <class T>
__global__ void blend_state(std::int64_t count, const T* u, const T* state, const T* a, T* candidate, T* next) {
#pragma unroll 1  // one turn up to 2^28 cells
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const T keep = u[i], old = state[i], squashed = std::tanh(a[i]);
    candidate[i] = squashed;
    next[i] = keep * old + (T{1} - keep) * squashed;
  }
}

template <class T>
struct BlendValues {
  const T *u, *state, *candidate, *dnext;
};

template <class T>
__global__ void blend_state_backward(std::int64_t count, BlendValues<T> in, Target<T> du, Target<T> da,
                                     Target<T> dstate) {
#pragma unroll 1  // one turn up to 2^28 cells
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const T u = in.u[i], squashed = in.candidate[i], d = in.dnext[i], old = in.state[i];
    const T du_before = du.before(i), da_before = da.before(i), dstate_before = dstate.before(i);
    du.put(i, d * (old - squashed), du_before);
    da.put(i, d * (T{1} - u) * (T{1} - squashed * squashed), da_before);
    dstate.put(i, d * u, dstate_before);
  }
}

void run_gates(const GruGates& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.state);
    launch(context, blocks_for(cells.count, threads), threads, 0, gru_gates<T>, cells, op.a.data<T>(),
           op.state.data<T>(), op.r.data<T>(), op.u.data<T>(), op.reset.data<T>());
  });
}

void run_gates_backward(const GruGatesBackward& op, KernelContext& context) {
  with_element(op.u.type(), [&](auto zero) {
    using T = decltype(zero);
    const Cells cells = cells_of(op.u);
    const GateValues<T> in{op.r.data<T>(), op.u.data<T>(), op.state.data<T>(), op.dreset.data<T>(), op.du.data<T>()};
    const Target<T> da{op.da.data<T>(), op.accumulate_da};
    const Target<T> dstate{in.dreset != nullptr ? op.dstate.data<T>() : nullptr, op.accumulate_dstate};
    launch(context, blocks_for(cells.count, threads), threads, 0, gru_gates_backward<T>, cells, in, da, dstate);
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.state.elements();
    launch(context, blocks_for(count, threads), threads, 0, blend_state<T>, count, op.u.data<T>(), op.state.data<T>(),
           op.a.data<T>(), op.candidate.data<T>(), op.next.data<T>());
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.state.elements();
    const BlendValues<T> in{op.u.data<T>(), op.state.data<T>(), op.candidate.data<T>(), op.dnext.data<T>()};
    const Target<T> du{op.du.data<T>(), op.accumulate_du}, da{op.da.data<T>(), op.accumulate_da};
    const Target<T> dstate{op.dstate.data<T>(), op.accumulate_dstate};
    launch(context, blocks_for(count, threads), threads, 0, blend_state_backward<T>, count, in, du, da, dstate);
  });
}

const RegisterKernel<GruGates> gates_plain{"cuda", {"plain", 0, nullptr, run_gates}};
const RegisterKernel<GruGatesBackward> gates_back_plain{"cuda", {"plain", 0, nullptr, run_gates_backward}};
const RegisterKernel<BlendState> blend_plain{"cuda", {"plain", 0, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> blend_back_plain{"cuda", {"plain", 0, nullptr, run_blend_state_backward}};

}  // namespace gates_plain_kernels
}  // namespace strobe::cuda
