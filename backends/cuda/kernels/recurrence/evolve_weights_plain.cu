// Plain evolution of a layer's weights: one launch per step for an LSTM and two for a GRU, one thread a value. Backward
// two launches per step for an LSTM and three for a GRU, which leave the gates' gradients in scratch memory, and one
// that sums them over all steps. See evolve_cells.hpp. Cost 4 gates F^2 G FLOPs per step forward, twice that backward,
// in double; matrices are read by many threads, from the cache; scratch 8 T gates F G bytes.
#include "backends/cuda/kernels/recurrence/evolve_cells.hpp"

namespace strobe::cuda {
namespace evolve_weights_plain_kernels {

constexpr int threads = 128;

enum class Part { lstm_value, gru_gate, gru_state, lstm_gates_back, gru_gates_back, gru_reset_back, state_back };

/// Values i < count of one part of step t, one thread each. Source is an Evolution or an EvolutionGradient.
template <Part part, class Source>
__global__ void each_value(Source source, std::int64_t t, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    if constexpr (part == Part::lstm_value) lstm_value(source, t, i);
    if constexpr (part == Part::gru_gate) gru_gate(source, t, i);
    if constexpr (part == Part::gru_state) gru_state(source, t, i);
    if constexpr (part == Part::lstm_gates_back) lstm_gates_back(source, t, i);
    if constexpr (part == Part::gru_gates_back) gru_gates_back(source, t, i);
    if constexpr (part == Part::gru_reset_back) gru_reset_back(source, t, i);
    if constexpr (part == Part::state_back) state_back(source, t, i);
  }
}

template <class T>
__global__ void begin(EvolutionGradient<T> d) {
  for (std::int64_t i = grid_thread(); i < d.e.size(); i += grid_threads()) begin_gradient(d, i);
}

template <class T>
void forward(const EvolveWeights& op, const KernelContext& context) {
  using E = Evolution<T>;
  const E e = evolution_of<T>(op, op.bias);
  const std::int64_t n = e.size(), blocks = blocks_for(n, threads);
  for (std::int64_t t = 0; t < e.steps; ++t) {
    if (op.cell == EvolveCell::lstm) {
      launch(context, blocks, threads, 0, each_value<Part::lstm_value, E>, e, t, n);
    } else {
      launch(context, blocks_for(2 * n, threads), threads, 0, each_value<Part::gru_gate, E>, e, t, 2 * n);
      launch(context, blocks, threads, 0, each_value<Part::gru_state, E>, e, t, n);
    }
  }
}

template <class T>
void backward(const EvolveWeightsBackward& op, const KernelContext& context) {
  using D = EvolutionGradient<T>;
  const D d = gradient_of<T>(op, context);
  const std::int64_t n = d.e.size(), blocks = blocks_for(n, threads);
  launch(context, blocks, threads, 0, begin<T>, d);
  for (std::int64_t t = d.e.steps - 1; t >= 0; --t) {
    if (op.cell == EvolveCell::lstm) {
      launch(context, blocks, threads, 0, each_value<Part::lstm_gates_back, D>, d, t, n);
    } else {
      launch(context, blocks, threads, 0, each_value<Part::gru_gates_back, D>, d, t, n);
      launch(context, blocks, threads, 0, each_value<Part::gru_reset_back, D>, d, t, n);
    }
    launch(context, blocks, threads, 0, each_value<Part::state_back, D>, d, t, n);
  }
  launch_add_parameters(context, d);
}

void run_forward(const EvolveWeights& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) { forward<decltype(zero)>(op, context); });
}

void run_backward(const EvolveWeightsBackward& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) { backward<decltype(zero)>(op, context); });
}

const RegisterKernel<EvolveWeights> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<EvolveWeightsBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace evolve_weights_plain_kernels
}  // namespace strobe::cuda
