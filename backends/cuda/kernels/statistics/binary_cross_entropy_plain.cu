// Plain binary cross-entropy of columns with its gradient: one thread a logit, in double as on the cpu. With e =
// exp(-|x|), which cannot overflow, softplus(x) = max(x, 0) + log(1 + e) and its derivative is 1 / (1 + e) or e / (1 +
// e). The loss is summed over the block's threads as a tree, block by block into scratch memory, and a second launch of
// one block adds those sums; blocks depend on the shape only, so the sum is the same in every run. Cost: two launches;
// logits read once, gradient written once, and 8 bytes per block.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe::cuda {
namespace binary_cross_entropy_plain_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1024;

template <class T>
struct Logits {
  const T* logits;
  T* gradient;                  // null: none
  const std::int64_t* targets;  // [E] bit c: column c is true; null: the first column is
  std::int64_t count, columns;
  double scale;
};

/// Whether the i-th logit's column is true.
template <class T>
__device__ bool is_true(const Logits<T>& in, std::int64_t i) {
  const std::int64_t column = i % in.columns;
  if (in.targets == nullptr) return column == 0;
  return (static_cast<std::uint64_t>(in.targets[i / in.columns]) >> column & 1) != 0;
}

template <class T>
__global__ void binary_cross_entropy(Logits<T> in, double* block_sums) {
  STROBE_SHARED(double[warp_lanes], scratch);
  double sum = 0;
  for (std::int64_t i = grid_thread(); i < in.count; i += grid_threads()) {
    const double sign = is_true(in, i) ? -1.0 : 1.0, x = sign * static_cast<double>(in.logits[i]);
    const double e = std::exp(-std::abs(x));
    sum += (x > 0 ? x : 0.0) + std::log1p(e);
    if (in.gradient != nullptr) in.gradient[i] = static_cast<T>(sign * in.scale * (x > 0 ? 1.0 : e) / (1.0 + e));
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

/// loss += scale * sum of block_sums; one block.
__global__ void add_sums(const double* block_sums, std::int64_t count, double scale, double* loss) {
  STROBE_SHARED(double[warp_lanes], scratch);
  double sum = 0;
  for (std::int64_t b = threadIdx.x; b < count; b += blockDim.x) sum += block_sums[b];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *loss += sum * scale;
}

void run(const BinaryCrossEntropy& op, KernelContext& context) {
  const std::int64_t count = op.logits.elements(), wanted = blocks_for(count, threads);
  if (count == 0) return;
  const std::int64_t blocks = wanted < most_blocks ? wanted : most_blocks;
  auto* const sums = reinterpret_cast<double*>(context.scratch(static_cast<std::size_t>(blocks) * sizeof(double)));
  with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const Logits<T> in{op.logits.data<T>(),
                       op.gradient.defined() ? op.gradient.data<T>() : nullptr,
                       op.targets.defined() ? op.targets.data<std::int64_t>() : nullptr,
                       count,
                       op.logits.columns(),
                       op.scale};
    launch(context, blocks, threads, 0, binary_cross_entropy<T>, in, sums);
  });
  launch(context, 1, threads, 0, add_sums, static_cast<const double*>(sums), blocks, op.scale, op.loss.data<double>());
}

const RegisterKernel<BinaryCrossEntropy> plain{"cuda", {"plain", 0, nullptr, run}};

}  // namespace binary_cross_entropy_plain_kernels
}  // namespace strobe::cuda
