// Plain attention of roots over their sampled neighbours (NeighbourAttention) and its gradient, by the definitions, in
// double: a thread has one root and head and leaves values of each of its slots in scratch - the coefficient with
// dropout, and backward the gradient of the product as well - with the root's largest score taken off before the
// softmax; further launches have a thread a root and column, of heads or of codes. Every value is written by one
// thread, so the order of sums depends on shapes only. Any widths. Cost per slot 4 (F + H C) FLOPs forward, 6 F + 8 H C
// backward; rows of slots are read a few times, 8 or 16 bytes per slot and head of scratch.
#include "backends/cuda/kernels/attention/neighbour_parts.hpp"

namespace strobe::cuda {
namespace neighbour_attention_plain_kernels {

constexpr int threads = 128;

/// x . (the keys, or values, of slot s) + x_code . (its code) over the columns of one head of a root; x is like q,
/// x_code like code_query, `part` is 0 or 1.
template <class T>
__device__ double product_of(const NeighbourArrays<T>& op, const T* x, const T* x_code, std::int64_t root,
                             std::int64_t s, int part, int head) {
  const T *const vertex = op.of_vertex(s) + part * op.width(), *const code = op.of_code(s);
  const T *const of_root = x + root * op.width(), *const of_head = x_code + op.of_codes(root, head);
  double sum = 0;
  for (int c = head * op.depth; c < (head + 1) * op.depth; ++c) {
    sum += static_cast<double>(of_root[c]) * static_cast<double>(vertex[c]);
  }
  for (int c = 0; c < op.codes; ++c) sum += static_cast<double>(of_head[c]) * static_cast<double>(code[c]);
  return sum;
}

/// weights [S, H]: the coefficients of one root and head, which go to `kept` as well where it is not null.
template <class T>
__device__ void weigh_head(const NeighbourArrays<T>& op, std::int64_t root, int head, double* weights, T* kept) {
  const std::int64_t begin = op.offsets[root], end = op.offsets[root + 1];
  double largest = 0, sum = 0;
  for (std::int64_t s = begin; s < end; ++s) {
    const double product = product_of(op, op.q, op.code_query, root, s, 0, head),
                 score = product * op.factor(product, end - begin);
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
      sum += weights[s * op.heads + head] * static_cast<double>(op.of_vertex(s)[width + c]);
    }
    y[i] = static_cast<T>(sum);
  }
}

/// to, like code_query: the sums of each root's codes by the weights [S, H] of a head.
template <class T>
__global__ void sum_codes(NeighbourArrays<T> op, const double* weights, T* to) {
  for (std::int64_t i = grid_thread(); i < op.roots * op.heads * op.codes; i += grid_threads()) {
    const std::int64_t item = i / op.codes, root = item / op.heads, head = item % op.heads, c = i % op.codes;
    double sum = 0;
    for (std::int64_t s = op.offsets[root]; s < op.offsets[root + 1]; ++s) {
      sum += weights[s * op.heads + head] * static_cast<double>(op.of_code(s)[c]);
    }
    to[i] = static_cast<T>(sum);
  }
}

/// Additional arrays of the backward pass; `down` and `weights` [S, H] are scratch for the gradients of the products
/// and the coefficients with dropout.
template <class T>
struct Gradients {
  const T *coefficients, *dy, *dmixed;
  T *dq, *dseen, *dcode, *dcode_query;
  double *down, *weights;
};

template <class T>
__global__ void scores_back(NeighbourArrays<T> op, Gradients<T> to) {
  for (std::int64_t i = grid_thread(); i < op.roots * op.heads; i += grid_threads()) {
    const std::int64_t root = i / op.heads, begin = op.offsets[root], end = op.offsets[root + 1];
    const int head = static_cast<int>(i % op.heads);
    double mean = 0;
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t at = s * op.heads + head;
      const double p = static_cast<double>(to.coefficients[at]), factor = op.dropout.of(root, s - begin, head);
      to.down[at] = product_of(op, to.dy, to.dmixed, root, s, 1, head) * factor;
      to.weights[at] = p * factor;
      mean += p * to.down[at];
    }
    for (std::int64_t s = begin; s < end; ++s) {
      double& down = to.down[s * op.heads + head];
      const double product =
          op.scale == AttentionScale::leaky ? product_of(op, op.q, op.code_query, root, s, 0, head) : 0.0;
      down =
          static_cast<double>(to.coefficients[s * op.heads + head]) * (down - mean) * op.factor(product, end - begin);
    }
  }
}

template <class T>
__global__ void columns_back(NeighbourArrays<T> op, Gradients<T> to) {
  const int width = op.width();
  for (std::int64_t i = grid_thread(); i < op.roots * width; i += grid_threads()) {
    const std::int64_t root = i / width;
    const int c = static_cast<int>(i % width), head = c / op.depth;
    const double q = static_cast<double>(op.q[i]), dy = static_cast<double>(to.dy[i]);
    double dq = 0;
    for (std::int64_t s = op.offsets[root]; s < op.offsets[root + 1]; ++s) {
      const double down = to.down[s * op.heads + head];
      dq += down * static_cast<double>(op.of_vertex(s)[c]);
      to.dseen[s * 2 * width + c] = static_cast<T>(down * q);
      to.dseen[s * 2 * width + width + c] = static_cast<T>(to.weights[s * op.heads + head] * dy);
    }
    to.dq[i] = static_cast<T>(dq);
  }
}

/// dcode: a thread has a column of all of a root's codes.
template <class T>
__global__ void codes_back(NeighbourArrays<T> op, Gradients<T> to) {
  for (std::int64_t i = grid_thread(); i < op.roots * op.codes; i += grid_threads()) {
    const std::int64_t root = i / op.codes, c = i % op.codes;
    for (std::int64_t s = op.offsets[root]; s < op.offsets[root + 1]; ++s) {
      double sum = 0;
      for (int head = 0; head < op.heads; ++head) {
        const std::int64_t at = op.of_codes(root, head) + c, slot = s * op.heads + head;
        sum += to.down[slot] * static_cast<double>(op.code_query[at]) +
               to.weights[slot] * static_cast<double>(to.dmixed[at]);
      }
      to.dcode[s * op.codes + c] = static_cast<T>(sum);
    }
  }
}

/// Scratch for `each` values of each slot and head.
template <class Op>
double* scratch_of_slots(const Op& op, const KernelContext& context, int each) {
  return reinterpret_cast<double*>(
      context.scratch(static_cast<std::size_t>(op.code.rows() * op.heads * each) * sizeof(double)));
}

void run_forward(const NeighbourAttention& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    double* const weights = scratch_of_slots(op, context, 1);
    launch(context, blocks_for(arrays.roots * arrays.heads, threads), threads, 0, weigh<T>, arrays, weights,
           op.coefficients.defined() ? op.coefficients.data<T>() : nullptr);
    launch(context, blocks_for(op.q.elements(), threads), threads, 0, sum_values<T>, arrays, weights, op.y.data<T>());
    launch(context, blocks_for(op.mixed.elements(), threads), threads, 0, sum_codes<T>, arrays, weights,
           op.mixed.data<T>());
  });
}

void run_backward(const NeighbourAttentionBackward& op, KernelContext& context) {
  if (op.q.elements() == 0) return;
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto arrays = neighbour_arrays<T>(op);
    double *const down = scratch_of_slots(op, context, 2), *const weights = down + op.coefficients.elements();
    const Gradients<T> to{op.coefficients.data<T>(),
                          op.dy.data<T>(),
                          op.dmixed.data<T>(),
                          op.dq.data<T>(),
                          op.dseen.data<T>(),
                          op.dcode.data<T>(),
                          op.dcode_query.data<T>(),
                          down,
                          weights};
    launch(context, blocks_for(arrays.roots * arrays.heads, threads), threads, 0, scores_back<T>, arrays, to);
    launch(context, blocks_for(op.q.elements(), threads), threads, 0, columns_back<T>, arrays, to);
    launch(context, blocks_for(op.dcode_query.elements(), threads), threads, 0, sum_codes<T>, arrays,
           static_cast<const double*>(down), op.dcode_query.data<T>());
    launch(context, blocks_for(arrays.roots * arrays.codes, threads), threads, 0, codes_back<T>, arrays, to);
  });
}

const RegisterKernel<NeighbourAttention> forward{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<NeighbourAttentionBackward> backward{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace neighbour_attention_plain_kernels
}  // namespace strobe::cuda
