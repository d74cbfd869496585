// Evolution of small weight matrices over all steps in one launch: one block walks the steps with a barrier between the
// parts of each, so a step costs barriers instead of launches. Backward one launch for the steps and one for the sums
// over them. See evolve_cells.hpp; values and their sums are the plain kernels' own. Cost: as plain, on one
// multiprocessor, hence for matrices of few values only; the state between steps comes from the first-level cache.
#include "backends/cuda/kernels/recurrence/evolve_cells.hpp"

namespace strobe::cuda {
namespace evolve_weights_block_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_values = 1024;

template <class T>
__global__ void evolve(Evolution<T> e) {
  const bool lstm = e.gates == 4;
  for (std::int64_t t = 0; t < e.steps; ++t) {
    for (std::int64_t i = threadIdx.x; i < (lstm ? 1 : 2) * e.size(); i += blockDim.x) {
      lstm ? lstm_value(e, t, i) : gru_gate(e, t, i);
    }
    __syncthreads();
    for (std::int64_t i = threadIdx.x; !lstm && i < e.size(); i += blockDim.x) gru_state(e, t, i);
    __syncthreads();
  }
}

template <class T>
__global__ void evolve_back(EvolutionGradient<T> d) {
  const bool lstm = d.e.gates == 4;
  const std::int64_t n = d.e.size();
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) begin_gradient(d, i);
  for (std::int64_t t = d.e.steps - 1; t >= 0; --t) {
    // A thread reads of carry, dcell and back only what it wrote itself.
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      lstm ? lstm_gates_back(d, t, i) : gru_gates_back(d, t, i);
    }
    __syncthreads();
    for (std::int64_t i = threadIdx.x; !lstm && i < n; i += blockDim.x) gru_reset_back(d, t, i);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) state_back(d, t, i);
  }
}

bool supports_forward(const EvolveWeights& op) { return op.start.elements() <= most_values; }
bool supports_backward(const EvolveWeightsBackward& op) { return op.start.elements() <= most_values; }

void run_forward(const EvolveWeights& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, op.steps() > 0 ? 1 : 0, threads, 0, evolve<T>, evolution_of<T>(op, op.bias));
  });
}

void run_backward(const EvolveWeightsBackward& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) {
    using T = decltype(zero);
    const EvolutionGradient<T> d = gradient_of<T>(op, context);
    launch(context, 1, threads, 0, evolve_back<T>, d);
    launch_add_parameters(context, d);
  });
}

const RegisterKernel<EvolveWeights> block{Numerics::cuda, {"block", 10, supports_forward, run_forward}};
const RegisterKernel<EvolveWeightsBackward> backward_block{Numerics::cuda,
                                                           {"block", 10, supports_backward, run_backward}};

}  // namespace evolve_weights_block_kernels
}  // namespace strobe::cuda
