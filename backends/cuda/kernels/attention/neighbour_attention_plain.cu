// Plain attention of roots over their sampled neighbours (NeighbourAttention) and its gradient, by the definitions, in
// double: a thread has one root and head and leaves a value of each of its slots in scratch - the coefficient, or the
// gradient of the product q_r . k_s - with the root's largest score taken off before the softmax; a second launch then
// has a thread a root and column. Every value is written by one thread, so the order of sums depends on shapes only.
// Any widths. Cost 6 S F FLOPs forward, 14 S F backward; keys and values are read from memory once each, 16 bytes per
// slot and head of scratch.
#include "backends/cuda/kernels/attention/neighbour_parts.hpp"

namespace strobe::cuda {
namespace neighbour_attention_plain_kernels {

constexpr int threads = 128;

/// x . (the keys, or values, of slot s) over the columns of one head; `part` is 0 or 1.
template <class T>
__device__ double product_of(const NeighbourArrays<T>& op, const T* x, std::int64_t s, int part, int head) {
  const T *const vertex = op.of_vertex(s) + part * op.width(), *const slot = op.of_slot(s) + part * op.width();
  double sum = 0;
  for (int c = head * op.depth; c < (head + 1) * op.depth; ++c) {
    sum += static_cast<double>(x[c]) * (static_cast<double>(vertex[c]) + static_cast<double>(slot[c]));
  }
  return sum;
}

/// weights [S, H]: the coefficients of one root and head, which go to `kept` as well where it is not null.
template <class T>
__device__ void weigh_head(const NeighbourArrays<T>& op, std::int64_t root, int head, double* weights, T* kept) {
  const std::int64_t begin = op.offsets[root], end = op.offsets[root + 1];
  const T* const q = op.q + root * op.width();
  double largest = 0, sum = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    const double product = product_of(op, q, s, 0, head), score = product * op.factor(product, end - begin);
    largest = s == begin ? score : max(largest, score);
    weights[s * op.heads + head] = score;
  }
  for (std::int64_t s = begin; s < end; ++s) {
    double& weight = weights[s * op.heads + head];
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (std::int64_t s = begin; s < end; ++s) {
    double& weight = weights[s * op.heads + head];
    weight /= sum;
    if (kept != nullptr) kept[s * op.heads + head] = static_cast<T>(weight);
    weight *= op.dropout.of(root, s - begin, head);
  }
}

template <class T>
__global__ void weigh(NeighbourArrays<T> op, double* weights, T* kept) {
  for (std::int64_t i = grid_thread(); i < op.roots * op.heads; i += grid_threads()) {
    weigh_head(op, i / op.heads, static_cast<int>(i % op.heads), weights, kept);
  }
}

template <class T>
__global__ void sum_values(NeighbourArrays<T> op, const double* weights, T* y) {
  const int width = op.width();
  for (std::int64_t i = grid_thread(); i < op.roots * width; i += grid_threads()) {
    const std::int64_t root = i / width;
    const int c = static_cast<int>(i % width), head = c / op.depth;
    double sum = 0;
    for (std::int64_t s = op.offsets[root]; s < op.offsets[root + 1]; ++s) {
      sum += weights[s * op.heads + head] *
             (static_cast<double>(op.of_vertex(s)[width + c]) + static_cast<double>(op.of_slot(s)[width + c]));
    }
    y[i] = static_cast<T>(sum);
  }
}

/// What the backward pass reads and writes besides; `down` [S, H] is scratch for the gradients of the products.
template <class T>
struct Gradients {
  const T *coefficients, *dy;
  T *dq, *dslot;
  double* down;
};

template <class T>
__global__ void scores_back(NeighbourArrays<T> op, Gradients<T> to) {
  for (std::int64_t i = grid_thread(); i < op.roots * op.heads; i += grid_threads()) {
    const std::int64_t root = i / op.heads, begin = op.offsets[root], end = op.offsets[root + 1];
    const int head = static_cast<int>(i % op.heads);
    double mean = 0;
    for (std::int64_t s = begin; s < end; ++s) {
      double& down = to.down[s * op.heads + head];
      down = product_of(op, to.dy + root * op.width(), s, 1, head) * op.dropout.of(root, s - begin, head);
      mean += static_cast<double>(to.coefficients[s * op.heads + head]) * down;
    }
    for (std::int64_t s = begin; s < end; ++s) {
      double& down = to.down[s * op.heads + head];
      const double product =
          op.scale == AttentionScale::leaky ? product_of(op, op.q + root * op.width(), s, 0, head) : 0.0;
      down =
          static_cast<double>(to.coefficients[s * op.heads + head]) * (down - mean) * op.factor(product, end - begin);
    }
  }
}

template <class T>
__global__ void columns_back(NeighbourArrays<T> op, Gradients<T> to) {
  const int width = op.width();
  for (std::int64_t i = grid_thread(); i < op.roots * width; i += grid_threads()) {
    const std::int64_t root = i / width, begin = op.offsets[root];
    const int c = static_cast<int>(i % width), head = c / op.depth;
    const double q = static_cast<double>(op.q[i]), dy = static_cast<double>(to.dy[i]);
    double dq = 0;
    for (std::int64_t s = begin; s < op.offsets[root + 1]; ++s) {
      const double down = to.down[s * op.heads + head], p = static_cast<double>(to.coefficients[s * op.heads + head]);
      dq += down * (static_cast<double>(op.of_vertex(s)[c]) + static_cast<double>(op.of_slot(s)[c]));
      to.dslot[s * 2 * width + c] = static_cast<T>(down * q);
      to.dslot[s * 2 * width + width + c] = static_cast<T>(p * op.dropout.of(root, s - begin, head) * dy);
    }
    to.dq[i] = static_cast<T>(dq);
  }
}

template <class Op>
double* scratch_of_slots(const Op& op, const KernelContext& context) {
  return reinterpret_cast<double*>(
      context.scratch(static_cast<std::size_t>(op.slot.rows() * op.heads) * sizeof(double)));
}

void run_forward(const NeighbourAttention& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    double* const weights = scratch_of_slots(op, context);
    launch(context, blocks_for(arrays.roots * arrays.heads, threads), threads, 0, weigh<T>, arrays, weights,
           op.coefficients.defined() ? op.coefficients.data<T>() : nullptr);
    launch(context, blocks_for(op.q.elements(), threads), threads, 0, sum_values<T>, arrays, weights, op.y.data<T>());
  });
}

void run_backward(const NeighbourAttentionBackward& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    const Gradients<T> to{op.coefficients.data<T>(), op.dy.data<T>(), op.dq.data<T>(), op.dslot.data<T>(),
                          scratch_of_slots(op, context)};
    launch(context, blocks_for(arrays.roots * arrays.heads, threads), threads, 0, scores_back<T>, arrays, to);
    launch(context, blocks_for(op.q.elements(), threads), threads, 0, columns_back<T>, arrays, to);
  });
}

const RegisterKernel<NeighbourAttention> forward{Numerics::cuda, {"plain", 0, nullptr, run_forward}};
const RegisterKernel<NeighbourAttentionBackward> backward{Numerics::cuda, {"plain", 0, nullptr, run_backward}};

}  // namespace neighbour_attention_plain_kernels
}  // namespace strobe::cuda
