// One value of one step of evolving weights (EvolveGCN: Pareja et al., AAAI'20), forward and backward: what the kernels
// of one launch per step and those of one launch for all steps share. Matrices [F, G] are row-major, n = F G; sums are
// taken in double by the thread that owns the value, so no result depends on how values are spread over threads.
// Between two functions of a step, and between steps, all values of the one before must have been written.
#pragma once

#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {

template <class T>
struct Evolution {
  std::int64_t f, g, steps, gates, kept_per_step;
  const T *wx, *wh, *bias, *start, *start_cell, *summary;  // start_cell, summary: null when undefined
  T *weights, *kept;

  __host__ __device__ std::int64_t size() const { return f * g; }
  __device__ T* kept_at(std::int64_t t, std::int64_t k) const { return kept + (t * kept_per_step + k) * size(); }
  /// Value i of the state before step t.
  __device__ double state(std::int64_t t, std::int64_t i) const {
    return static_cast<double>(t == 0 ? start[i] : weights[(t - 1) * size() + i]);
  }
  /// Value [j, c] of the input of step t: the transposed summary, or the state.
  __device__ double input(std::int64_t t, std::int64_t j, std::int64_t c) const {
    return summary == nullptr ? state(t, j * g + c) : static_cast<double>(summary[(t * g + c) * f + j]);
  }
  /// The factor of wh in gate k of step t: the state, or r times the state for a GRU's candidate.
  __device__ double read_state(std::int64_t t, std::int64_t k, std::int64_t i) const {
    const bool reset = gates == 3 && k == 2;
    return reset ? static_cast<double>(kept_at(t, 1)[i]) * state(t, i) : state(t, i);
  }
  __device__ double cell_before(std::int64_t t, std::int64_t i) const {
    if (t > 0) return static_cast<double>(kept_at(t - 1, 4)[i]);
    return start_cell == nullptr ? 0.0 : static_cast<double>(start_cell[i]);
  }
};

template <class T, class Op>
Evolution<T> evolution_of(const Op& op, const Tensor& bias) {
  return {op.start.rows(),
          op.start.columns(),
          op.steps(),
          gates_of(op.cell),
          kept_of(op.cell),
          op.wx.template data<T>(),
          op.wh.template data<T>(),
          bias.data<T>(),
          op.start.template data<T>(),
          op.start_cell.template data<T>(),
          op.summary.template data<T>(),
          op.weights.template data<T>(),
          op.kept.template data<T>()};
}

/// Value i of gate k before its activation.
template <class T>
__device__ double gate_sum(const Evolution<T>& e, std::int64_t t, std::int64_t k, std::int64_t i) {
  const std::int64_t row = (k * e.f + i / e.g) * e.f, c = i % e.g;
  double sum = e.bias[k * e.size() + i];
  for (std::int64_t j = 0; j < e.f; ++j) {
    sum += static_cast<double>(e.wx[row + j]) * e.input(t, j, c);
    sum += static_cast<double>(e.wh[row + j]) * e.read_state(t, k, j * e.g + c);
  }
  return sum;
}

__device__ inline double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// Value i of an LSTM's step: gates, c' and h'.
template <class T>
__device__ void lstm_value(const Evolution<T>& e, std::int64_t t, std::int64_t i) {
  const double in = logistic(gate_sum(e, t, 0, i)), forget = logistic(gate_sum(e, t, 1, i)),
               candidate = std::tanh(gate_sum(e, t, 2, i)), out = logistic(gate_sum(e, t, 3, i));
  const double cell = forget * e.cell_before(t, i) + in * candidate;
  e.kept_at(t, 0)[i] = static_cast<T>(in);
  e.kept_at(t, 1)[i] = static_cast<T>(forget);
  e.kept_at(t, 2)[i] = static_cast<T>(candidate);
  e.kept_at(t, 3)[i] = static_cast<T>(out);
  e.kept_at(t, 4)[i] = static_cast<T>(cell);
  e.weights[t * e.size() + i] = static_cast<T>(out * std::tanh(cell));
}

/// Value i of [z | r], 2 n values, of a GRU's step.
template <class T>
__device__ void gru_gate(const Evolution<T>& e, std::int64_t t, std::int64_t i) {
  const std::int64_t k = i / e.size(), at = i % e.size();
  e.kept_at(t, k)[at] = static_cast<T>(logistic(gate_sum(e, t, k, at)));
}

/// Value i of q and h' of a GRU's step, after its gates.
template <class T>
__device__ void gru_state(const Evolution<T>& e, std::int64_t t, std::int64_t i) {
  const double candidate = std::tanh(gate_sum(e, t, 2, i)), z = static_cast<double>(e.kept_at(t, 0)[i]);
  e.kept_at(t, 2)[i] = static_cast<T>(candidate);
  e.weights[t * e.size() + i] = static_cast<T>((1.0 - z) * e.state(t, i) + z * candidate);
}

/// The gradient's own values. Scratch in doubles: dgates [T, gates, n] before the activations; carry and dcell [n] of
/// the state and cell before the step last done; back [n], a GRU's part of carry that does not pass through its gates.
template <class T>
struct EvolutionGradient {
  Evolution<T> e;
  const T *dweights, *dlast_cell;
  T *dwx, *dwh, *dbias, *dstart, *dstart_cell, *dsummary;
  double *dgates, *carry, *dcell, *back;
  bool detached, accumulate_dsummary;

  __device__ double* dgate(std::int64_t t, std::int64_t k) const { return dgates + (t * e.gates + k) * e.size(); }
  __device__ bool cut(std::int64_t t) const { return detached && t > 0; }
  /// Sum over gates [0, gates) and their rows of dgate[., c] times column j of `matrix` (wx or wh).
  __device__ double through(const T* matrix, std::int64_t t, std::int64_t first, std::int64_t last,
                            std::int64_t i) const {
    const std::int64_t j = i / e.g, c = i % e.g;
    double sum = 0;
    for (std::int64_t row = first * e.f; row < last * e.f; ++row) {
      sum += dgates[(t * e.gates * e.f + row) * e.g + c] * static_cast<double>(matrix[row * e.f + j]);
    }
    return sum;
  }
};

template <class T>
__device__ void begin_gradient(const EvolutionGradient<T>& d, std::int64_t i) {
  d.carry[i] = 0.0;
  d.dcell[i] = d.dlast_cell == nullptr ? 0.0 : static_cast<double>(d.dlast_cell[i]);
}

/// Value i of an LSTM's gates.
template <class T>
__device__ void lstm_gates_back(const EvolutionGradient<T>& d, std::int64_t t, std::int64_t i) {
  const Evolution<T>& e = d.e;
  const double dh = static_cast<double>(d.dweights[t * e.size() + i]) + d.carry[i];
  const double in = static_cast<double>(e.kept_at(t, 0)[i]), forget = static_cast<double>(e.kept_at(t, 1)[i]),
               candidate = static_cast<double>(e.kept_at(t, 2)[i]), out = static_cast<double>(e.kept_at(t, 3)[i]),
               squashed = std::tanh(static_cast<double>(e.kept_at(t, 4)[i]));
  const double dmemory = d.dcell[i] + dh * out * (1 - squashed * squashed);
  d.dgate(t, 0)[i] = dmemory * candidate * in * (1 - in);
  d.dgate(t, 1)[i] = dmemory * e.cell_before(t, i) * forget * (1 - forget);
  d.dgate(t, 2)[i] = dmemory * in * (1 - candidate * candidate);
  d.dgate(t, 3)[i] = dh * squashed * out * (1 - out);
  d.dcell[i] = d.cut(t) ? 0.0 : dmemory * forget;
}

/// Value i of a GRU's z and q.
template <class T>
__device__ void gru_gates_back(const EvolutionGradient<T>& d, std::int64_t t, std::int64_t i) {
  const Evolution<T>& e = d.e;
  const double dh = static_cast<double>(d.dweights[t * e.size() + i]) + d.carry[i];
  const double z = static_cast<double>(e.kept_at(t, 0)[i]), q = static_cast<double>(e.kept_at(t, 2)[i]);
  d.dgate(t, 0)[i] = dh * (q - e.state(t, i)) * z * (1 - z);
  d.dgate(t, 2)[i] = dh * z * (1 - q * q);
  d.back[i] = dh * (1 - z);
}

/// Value i of a GRU's r, after q.
template <class T>
__device__ void gru_reset_back(const EvolutionGradient<T>& d, std::int64_t t, std::int64_t i) {
  const double r = static_cast<double>(d.e.kept_at(t, 1)[i]), dreset = d.through(d.e.wh, t, 2, 3, i);
  d.dgate(t, 1)[i] = dreset * d.e.state(t, i) * r * (1 - r);
  d.back[i] += dreset * r;
}

/// Value i of the gradients of the step's input and of the state before it, after all gates.
template <class T>
__device__ void state_back(const EvolutionGradient<T>& d, std::int64_t t, std::int64_t i) {
  const Evolution<T>& e = d.e;
  const bool gru = e.gates == 3;
  const double dx = d.through(e.wx, t, 0, e.gates, i);
  double back = (gru ? d.back[i] : 0.0) + d.through(e.wh, t, 0, gru ? 2 : 4, i);
  if (e.summary == nullptr) back += dx;
  if (e.summary != nullptr && d.dsummary != nullptr) {
    T& to = d.dsummary[(t * e.g + i % e.g) * e.f + i / e.g];
    to = static_cast<T>((d.accumulate_dsummary ? static_cast<double>(to) : 0.0) + dx);
  }
  d.carry[i] = d.cut(t) ? 0.0 : back;
}

/// Adds what all steps give to one element of dwx and of dwh.
template <class T>
__device__ void add_weight(const EvolutionGradient<T>& d, std::int64_t weight) {
  const Evolution<T>& e = d.e;
  const std::int64_t row = weight / e.f, j = weight % e.f, k = row / e.f;
  double of_input = static_cast<double>(d.dwx[weight]), of_state = static_cast<double>(d.dwh[weight]);
  for (std::int64_t t = 0; t < e.steps; ++t) {
    for (std::int64_t c = 0; c < e.g; ++c) {
      const double dgate = d.dgates[(t * e.gates * e.f + row) * e.g + c];
      of_input += dgate * e.input(t, j, c);
      of_state += dgate * e.read_state(t, k, j * e.g + c);
    }
  }
  d.dwx[weight] = static_cast<T>(of_input);
  d.dwh[weight] = static_cast<T>(of_state);
}

/// After the last step: element i of dwx and dwh, then of dbias, then of dstart and dstart_cell. One thread an element.
template <class T>
__global__ void add_parameters(EvolutionGradient<T> d) {
  const Evolution<T>& e = d.e;
  const std::int64_t weights = e.gates * e.f * e.f, biases = e.gates * e.size();
  for (std::int64_t i = grid_thread(); i < weights + biases + e.size(); i += grid_threads()) {
    if (i < weights) {
      add_weight(d, i);
    } else if (i < weights + biases) {
      double sum = d.dbias[i - weights];
      for (std::int64_t t = 0; t < e.steps; ++t) sum += d.dgates[t * biases + i - weights];
      d.dbias[i - weights] = static_cast<T>(sum);
    } else {
      const std::int64_t at = i - weights - biases;
      if (d.dstart != nullptr) d.dstart[at] = static_cast<T>(static_cast<double>(d.dstart[at]) + d.carry[at]);
      if (d.dstart_cell != nullptr) {
        d.dstart_cell[at] = static_cast<T>(static_cast<double>(d.dstart_cell[at]) + d.dcell[at]);
      }
    }
  }
}

template <class T>
EvolutionGradient<T> gradient_of(const EvolveWeightsBackward& op, const KernelContext& context) {
  const Evolution<T> e = evolution_of<T>(op, Tensor());
  const std::int64_t n = e.size(), all = e.steps * e.gates * n;
  auto* const scratch =
      reinterpret_cast<double*>(context.scratch(static_cast<std::size_t>(all + 3 * n) * sizeof(double)));
  return {e,
          op.dweights.data<T>(),
          op.dlast_cell.data<T>(),
          op.dwx.data<T>(),
          op.dwh.data<T>(),
          op.dbias.data<T>(),
          op.dstart.data<T>(),
          op.dstart_cell.data<T>(),
          op.dsummary.data<T>(),
          scratch,
          scratch + all,
          scratch + all + n,
          scratch + all + 2 * n,
          op.detached,
          op.accumulate_dsummary};
}

template <class T>
void launch_add_parameters(const KernelContext& context, const EvolutionGradient<T>& d) {
  constexpr int threads = 128;
  const std::int64_t elements = d.e.gates * d.e.f * (d.e.f + d.e.g) + d.e.size();
  launch(context, blocks_for(elements, threads), threads, 0, add_parameters<T>, d);
}

}  // namespace strobe::cuda
