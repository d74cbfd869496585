// Plain gated recurrent unit over all steps, one vertex at a time, straight from the definition; the backward pass goes
// back through time with the gates computed again unless they were kept. Weight gradients are summed per range of
// vertices in double and then in order of ranges. Cost 6 h (F + h) FLOPs a cell forward, three times that backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

constexpr std::int64_t vertices_per_task = 64;

using Sizes = cpu::GruSizes;

/// Gate `g` (0 = r, 1 = z, 2 = n) of one cell from its input and its state (r h for gate 2), activated.
template <class Op, class T>
void activate_gate(const Op& op, const Sizes& s, std::int64_t g, const T* x, const T* state, T* gate) {
  std::copy_n(op.bias.template data<T>() + g * s.hidden, s.hidden, gate);
  const T* w_x = op.w_x.template data<T>() + g * s.inputs * s.hidden;
  const T* w_h = op.w_h.template data<T>() + g * s.hidden * s.hidden;
  for (std::int64_t f = 0; f < s.inputs; ++f) {
    for (std::int64_t u = 0; u < s.hidden; ++u) gate[u] += x[g * s.own + f] * w_x[f * s.hidden + u];
  }
  for (std::int64_t k = 0; k < s.hidden; ++k) {
    for (std::int64_t u = 0; u < s.hidden; ++u) gate[u] += state[k] * w_h[k * s.hidden + u];
  }
  for (std::int64_t u = 0; u < s.hidden; ++u)
    gate[u] = g == 2 ? std::tanh(gate[u]) : T{1} / (T{1} + std::exp(-gate[u]));
}

/// All three gates [3 h] of one cell, and r h in `reset` [h].
template <class Op, class T>
void activate_gates(const Op& op, const Sizes& s, const T* x, const T* h, T* gates, T* reset) {
  activate_gate(op, s, 0, x, h, gates);
  activate_gate(op, s, 1, x, h, gates + s.hidden);
  for (std::int64_t u = 0; u < s.hidden; ++u) reset[u] = gates[u] * h[u];
  activate_gate(op, s, 2, x, static_cast<const T*>(reset), gates + 2 * s.hidden);
}

template <class T>
void run_vertex(const GruSequence& op, std::int64_t v) {
  const Sizes s(op);
  const std::vector<T> zeros(s.hidden, T{0});
  std::vector<T> h = zeros, reset = h, gates(static_cast<std::size_t>(3 * s.hidden));
  for (std::int64_t t = 0; t < op.steps; ++t) {
    const std::int64_t row = t * s.n + v;
    std::copy_n(cpu::state_before(op, op.y, 0, t, v, zeros.data()), s.hidden, h.begin());
    activate_gates(op, s, op.x.data<T>() + row * s.columns, h.data(), gates.data(), reset.data());
    for (std::int64_t u = 0; u < s.hidden; ++u) {
      const T z = gates[s.hidden + u], fresh = gates[2 * s.hidden + u];
      T& state = h[u];
      state = z * state + (T{1} - z) * fresh;
    }
    std::copy_n(h.begin(), s.hidden, op.y.data<T>() + row * s.hidden);
    if (op.gates.defined()) std::copy_n(gates.begin(), 3 * s.hidden, op.gates.data<T>() + row * 3 * s.hidden);
  }
}

/// Gradients that one vertex carries from step to step, and the sums of its range: dw_x, dw_h, dbias.
template <class T>
struct Flow {
  std::vector<T> dh, gates, reset, dz;
  double* sums;
};

/// Through gate `g`: adds to the weights' sums and to dx, and returns what reaches element k of its state.
template <class T>
void through_gate(const GruSequenceBackward& op, const Sizes& s, std::int64_t g, const T* x, const T* state, T* dx,
                  Flow<T>& flow, std::vector<T>& to_state) {
  const T* dz = flow.dz.data() + g * s.hidden;
  const T* w_x = op.w_x.data<T>() + g * s.inputs * s.hidden;
  const T* w_h = op.w_h.data<T>() + g * s.hidden * s.hidden;
  double* sums_x = flow.sums + g * s.inputs * s.hidden;
  double* sums_h = flow.sums + (3 * s.inputs + g * s.hidden) * s.hidden;
  double* sums_b = flow.sums + (3 * s.inputs + 3 * s.hidden + g) * s.hidden;
  for (std::int64_t u = 0; u < s.hidden; ++u) {
    sums_b[u] += static_cast<double>(dz[u]);
    for (std::int64_t f = 0; f < s.inputs; ++f) {
      sums_x[f * s.hidden + u] += static_cast<double>(x[g * s.own + f]) * static_cast<double>(dz[u]);
      if (dx != nullptr) dx[g * s.own + f] += dz[u] * w_x[f * s.hidden + u];
    }
    for (std::int64_t k = 0; k < s.hidden; ++k) {
      sums_h[k * s.hidden + u] += static_cast<double>(state[k]) * static_cast<double>(dz[u]);
      to_state[k] += dz[u] * w_h[k * s.hidden + u];
    }
  }
}

/// One cell backward: flow.dh holds the gradient of h_t before and of h_{t-1} after.
template <class T>
void cell_back(const GruSequenceBackward& op, const Sizes& s, const T* x, const T* h, T* dx, Flow<T>& flow) {
  const T* gates = flow.gates.data();
  std::vector<T> before(s.hidden), to_reset(before.size(), T{0});
  for (std::int64_t u = 0; u < s.hidden; ++u) {
    const T z = gates[s.hidden + u], fresh = gates[2 * s.hidden + u], d = flow.dh[u];
    flow.dz[s.hidden + u] = d * (h[u] - fresh) * z * (T{1} - z);
    flow.dz[2 * s.hidden + u] = d * (T{1} - z) * (T{1} - fresh * fresh);
    before[u] = d * z;
  }
  through_gate<T>(op, s, 2, x, flow.reset.data(), dx, flow, to_reset);
  for (std::int64_t u = 0; u < s.hidden; ++u) {
    const T d = to_reset[u], r = gates[u];
    flow.dz[u] = d * h[u] * r * (T{1} - r);
    before[u] += d * r;
  }
  through_gate(op, s, 0, x, h, dx, flow, before);
  through_gate(op, s, 1, x, h, dx, flow, before);
  flow.dh = before;
}

template <class T>
void flow_back(const GruSequenceBackward& op, const Sizes& s, std::int64_t v, Flow<T>& flow) {
  const std::vector<T> zero(s.hidden, T{0});
  flow.dh = zero;
  for (std::int64_t t = op.steps - 1; t >= 0; --t) {
    const std::int64_t row = t * s.n + v;
    const T* h = cpu::state_before(op, op.y, 0, t, v, zero.data());
    const T* x = op.x.data<T>() + row * s.columns;
    T* dx = op.dx.defined() ? op.dx.data<T>() + row * s.columns : nullptr;
    if (dx != nullptr && !op.accumulate_dx) std::fill_n(dx, s.columns, T{0});
    if (op.gates.defined()) {
      std::copy_n(op.gates.data<T>() + row * 3 * s.hidden, 3 * s.hidden, flow.gates.begin());
      for (std::int64_t u = 0; u < s.hidden; ++u) flow.reset[u] = flow.gates[u] * h[u];
    } else {
      activate_gates(op, s, x, h, flow.gates.data(), flow.reset.data());
    }
    for (std::int64_t u = 0; u < s.hidden; ++u) flow.dh[u] += op.dy.data<T>()[row * s.hidden + u];
    cell_back(op, s, x, h, dx, flow);
    const std::int64_t origin = cpu::origin_of(op, t, v);
    if (origin == cpu::goes_on) continue;
    if (origin >= 0 && op.dstart.defined())
      std::copy_n(flow.dh.begin(), s.hidden, op.dstart.data<T>() + origin * s.hidden);
    flow.dh = zero;
  }
}

void run_forward(const GruSequence& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    cpu::for_ranges(context, op.vertices(), vertices_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) run_vertex<decltype(zero)>(op, v);
    });
  });
}

void run_backward(const GruSequenceBackward& op, KernelContext& context) {
  const Sizes s(op);
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t grain = std::max(vertices_per_task, cpu::divide_up(s.n, 64));
    cpu::sum_range_gradients<T>(op, context, grain, [&](std::int64_t begin, std::int64_t end, double* sums) {
      Flow<T> flow;
      flow.gates.resize(3 * s.hidden);
      flow.dz = flow.gates;
      flow.reset.resize(s.hidden);
      flow.sums = sums;
      for (std::int64_t v = begin; v < end; ++v) flow_back(op, s, v, flow);
    });
  });
}

const RegisterKernel<GruSequence> plain{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GruSequenceBackward> backward_plain{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
