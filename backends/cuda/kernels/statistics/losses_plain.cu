// Plain losses with their gradients: one thread a row, or a logit of binary cross-entropy, in double as on the cpu. The
// largest logit is taken off first, so no exponential overflows. Binary cross-entropy takes e = exp(-|x|), which cannot
// overflow: softplus(x) = max(x, 0) + log(1 + e), with the derivative 1 / (1 + e) or e / (1 + e). The loss is summed
// over the block's threads as a tree, block by block into scratch memory, and a second launch of one block adds those
// sums; blocks depend on the rows only, so the sum is the same in every run. Cost: two launches; inputs read once
// (logits again for the gradient, from the cache), gradient written once, and 8 bytes per block.
#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_events.hpp"
#include "backends/operations/operations_loss.hpp"

namespace strobe::cuda {
namespace losses_plain_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1024;

/// -log softmax(logits)[label]; writes the gradient row, times `scale`, when `gradient` is not null.
template <class T>
__device__ double softmax_row(const T* logits, std::int64_t classes, std::int64_t label, double scale, T* gradient) {
  double largest = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) {
    const double logit = logits[c];
    if (largest < logit) largest = logit;
  }
  double total = 0;
  for (std::int64_t c = 0; c < classes; ++c) total += std::exp(static_cast<double>(logits[c]) - largest);
  for (std::int64_t c = 0; gradient != nullptr && c < classes; ++c) {
    const double probability = std::exp(static_cast<double>(logits[c]) - largest) / total;
    gradient[c] = static_cast<T>((probability - (c == label ? 1.0 : 0.0)) * scale);
  }
  return std::log(total) - (static_cast<double>(logits[label]) - largest);
}

template <class T>
struct CrossEntropy {
  const T* logits;
  const std::int32_t* labels;
  const T* weights;  // null: all 1
  T* gradient;       // null: none
  std::int64_t rows, classes;
  double scale;
};

template <class T>
__global__ void cross_entropy(CrossEntropy<T> in, double* block_sums) {
  STROBE_SHARED(double[warp_lanes], scratch);
  double sum = 0;
  for (std::int64_t r = grid_thread(); r < in.rows; r += grid_threads()) {
    const double weight = in.weights == nullptr ? 1.0 : static_cast<double>(in.weights[r]);
    sum += weight * softmax_row(in.logits + r * in.classes, in.classes, in.labels[r], weight * in.scale,
                                in.gradient == nullptr ? nullptr : in.gradient + r * in.classes);
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

template <class T>
__global__ void squared_error(const T* outputs, const T* targets, T* gradient, std::int64_t rows, double scale,
                              double* block_sums) {
  STROBE_SHARED(double[warp_lanes], scratch);
  double sum = 0;
  for (std::int64_t r = grid_thread(); r < rows; r += grid_threads()) {
    const double error = static_cast<double>(outputs[r]) - static_cast<double>(targets[r]);
    if (gradient != nullptr) gradient[r] = static_cast<T>(2.0 * error * scale);
    sum += error * error;
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

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
__global__ void add_block_sums(const double* block_sums, std::int64_t count, double scale, double* loss) {
  STROBE_SHARED(double[warp_lanes], scratch);
  double sum = 0;
  for (std::int64_t b = threadIdx.x; b < count; b += blockDim.x) sum += block_sums[b];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *loss += sum * scale;
}

std::int64_t blocks_of(std::int64_t rows) {
  const std::int64_t wanted = blocks_for(rows, threads);
  return wanted < most_blocks ? wanted : most_blocks;
}

double* block_sums_of(const KernelContext& context, std::int64_t blocks) {
  return reinterpret_cast<double*>(context.scratch(static_cast<std::size_t>(blocks) * sizeof(double)));
}

template <class T, class Op>
void run_cross_entropy(const Op& op, const T* weights, const KernelContext& context) {
  const CrossEntropy<T> in{op.logits.template data<T>(),
                           op.labels.template data<std::int32_t>(),
                           weights,
                           op.gradient.template data<T>(),
                           op.logits.rows(),
                           op.logits.columns(),
                           op.scale};
  if (in.rows == 0) return;
  const std::int64_t blocks = blocks_of(in.rows);
  double* const sums = block_sums_of(context, blocks);
  launch(context, blocks, threads, 0, cross_entropy<T>, in, sums);
  launch(context, 1, threads, 0, add_block_sums, sums, blocks, op.scale, op.loss.template data<double>());
}

void run_softmax(const SoftmaxCrossEntropy& op, KernelContext& context) {
  with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    run_cross_entropy<T>(op, static_cast<const T*>(nullptr), context);
  });
}

void run_weighted(const WeightedCrossEntropy& op, KernelContext& context) {
  with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    run_cross_entropy<T>(op, op.weights.data<T>(), context);
  });
}

void run_squared(const MeanSquaredError& op, KernelContext& context) {
  const std::int64_t rows = op.outputs.rows(), blocks = blocks_of(rows);
  if (rows == 0) return;
  double* const sums = block_sums_of(context, blocks);
  with_element(op.outputs.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks, threads, 0, squared_error<T>, op.outputs.data<T>(), op.targets.data<T>(),
           op.gradient.data<T>(), rows, op.scale, sums);
  });
  launch(context, 1, threads, 0, add_block_sums, sums, blocks, op.scale, op.loss.data<double>());
}

void run_binary(const BinaryCrossEntropy& op, KernelContext& context) {
  const std::int64_t count = op.logits.elements(), blocks = blocks_of(count);
  if (count == 0) return;
  double* const sums = block_sums_of(context, blocks);
  with_element(op.logits.type(), [&](auto zero) {
    using T = decltype(zero);
    const Logits<T> in{op.logits.data<T>(),
                       op.gradient.data<T>(),
                       op.targets.data<std::int64_t>(),
                       count,
                       op.logits.columns(),
                       op.scale};
    launch(context, blocks, threads, 0, binary_cross_entropy<T>, in, sums);
  });
  launch(context, 1, threads, 0, add_block_sums, sums, blocks, op.scale, op.loss.data<double>());
}

const RegisterKernel<SoftmaxCrossEntropy> softmax_plain{"cuda", {"plain", 0, nullptr, run_softmax}};
const RegisterKernel<WeightedCrossEntropy> weighted_plain{"cuda", {"plain", 0, nullptr, run_weighted}};
const RegisterKernel<MeanSquaredError> squared_plain{"cuda", {"plain", 0, nullptr, run_squared}};
const RegisterKernel<BinaryCrossEntropy> binary_plain{"cuda", {"plain", 0, nullptr, run_binary}};

}  // namespace losses_plain_kernels
}  // namespace strobe::cuda
