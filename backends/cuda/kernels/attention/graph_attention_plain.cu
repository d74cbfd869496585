// Plain graph attention (Velickovic et al., ICLR'18, equations 1 to 6) and its gradient, by the definitions, in double:
// a thread has one row and head, softmax with the row's maximum taken off. Backward keeps every entry's weight and the
// gradient of its score in scratch; a warp then has a range of columns, walks over all entries in order and adds those
// of its columns, so that no two warps write to one place and the order depends on shapes only. No transpose is needed.
// Any widths. Cost 6 nnz H D FLOPs forward and again backward; backward reads the column indices once per range of
// columns (at most 2048 times) and moves 16 bytes per entry and head and 8 (D + 1) per column and head of scratch.
#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {
namespace graph_attention_plain_kernels {

constexpr int threads = 128;

/// Device arrays and sizes; `values` is null when logits are not weighted.
template <class T>
struct Graph {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T *values, *f, *left, *right;
  std::int64_t rows, columns, nonzeros, heads, depth;
  DropoutFactors dropout;

  __device__ std::int64_t width() const { return heads * depth; }
  __device__ double score(const T* with, std::int64_t cell, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t c = head * depth; c < (head + 1) * depth; ++c) {
      sum += static_cast<double>(f[cell * width() + c]) * static_cast<double>(with[c]);
    }
    return sum;
  }
  __device__ double factor(std::int64_t k) const { return values == nullptr ? 1.0 : static_cast<double>(values[k]); }
  /// The logit of entry k of a row with the score `own`.
  __device__ double logit(std::int64_t k, double own, std::int64_t head) const {
    return factor(k) * (own + score(right, indices[k], head));
  }
};

__device__ inline double slope_at(double logit) { return logit > 0 ? 1.0 : leaky_slope; }

template <class T, class Op>
Graph<T> arrays_of(const Op& op) {
  return {op.a.row_offsets.template data<std::int64_t>(),
          op.a.column_indices.template data<std::int32_t>(),
          op.weighted ? op.a.values.template data<T>() : nullptr,
          op.f.template data<T>(),
          op.left.template data<T>(),
          op.right.template data<T>(),
          op.a.rows,
          op.f.rows(),
          op.a.nonzeros,
          op.heads,
          op.f.columns() / op.heads,
          factors_of(op.dropout)};
}

/// The softmax of one row and head: p of a logit is exp(logit slope - log_sum).
struct RowSoftmax {
  double own, log_sum;
};

template <class T>
__device__ RowSoftmax softmax_of(const Graph<T>& op, std::int64_t row, std::int64_t head) {
  const std::int64_t begin = op.offsets[row], end = op.offsets[row + 1];
  const double own = op.score(op.left, row, head);
  if (begin == end) return {own, 0};
  double largest = 0, sum = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    const double logit = op.logit(k, own, head), e = logit * slope_at(logit);
    largest = k == begin ? e : max(largest, e);
  }
  for (std::int64_t k = begin; k < end; ++k) {
    const double logit = op.logit(k, own, head);
    sum += std::exp(logit * slope_at(logit) - largest);
  }
  return {own, largest + std::log(sum)};
}

/// Outputs of the forward pass.
template <class T>
struct Rows {
  T *y, *z, *slopes, *row_stats;
};

template <class T>
__device__ void forward_head(const Graph<T>& op, const Rows<T>& to, std::int64_t row, std::int64_t head) {
  const RowSoftmax softmax = softmax_of(op, row, head);
  double slope_mean = 0;
  for (std::int64_t c = head * op.depth; c < (head + 1) * op.depth; ++c) {
    double sum = 0, sloped = 0;
    slope_mean = 0;
    for (std::int64_t k = op.offsets[row]; k < op.offsets[row + 1]; ++k) {
      const double logit = op.logit(k, softmax.own, head), slope = slope_at(logit);
      const double p = std::exp(logit * slope - softmax.log_sum);
      const double term =
          p * op.dropout.of_edge(row, op.indices[k], head) * static_cast<double>(op.f[op.indices[k] * op.width() + c]);
      sum += term;
      sloped += term * slope;
      slope_mean += p * slope;
    }
    to.z[row * op.width() + c] = static_cast<T>(sum);
    to.slopes[row * op.width() + c] = static_cast<T>(sloped);
    to.y[row * op.width() + c] = static_cast<T>(sum > 0 ? sum : std::expm1(sum));
  }
  to.row_stats[row * 2 * op.heads + head] = static_cast<T>(softmax.log_sum);
  to.row_stats[(row * 2 + 1) * op.heads + head] = static_cast<T>(slope_mean);
}

template <class T>
__global__ void forward(Graph<T> op, Rows<T> to) {
  for (std::int64_t i = grid_thread(); i < op.rows * op.heads; i += grid_threads()) {
    forward_head(op, to, i / op.heads, i % op.heads);
  }
}

/// Additional arrays of the backward pass, and its scratch. Entries [nnz, H] have the weight after dropout and the
/// gradient of r_j. Columns have the gradients of l_j and r_j [C, H] and the sums of df [C, H D]. Parts [., 2 H D] hold
/// dleft and dright.
template <class T>
struct Gradients {
  const T *z, *dy;
  double *weights, *dscores, *down, *up, *df, *parts;

  __device__ double dz(std::int64_t at) const {
    const double value = z[at];
    return static_cast<double>(dy[at]) * (value > 0 ? 1.0 : std::exp(value));
  }
};

/// The gradient of the weight of entry k, after dropout's factor.
template <class T>
__device__ double weight_gradient(const Graph<T>& op, const Gradients<T>& to, std::int64_t row, std::int64_t k,
                                  std::int64_t head) {
  double sum = 0;
  for (std::int64_t c = head * op.depth; c < (head + 1) * op.depth; ++c) {
    sum += to.dz(row * op.width() + c) * static_cast<double>(op.f[op.indices[k] * op.width() + c]);
  }
  return sum;
}

template <class T>
__device__ void entries_of_row(const Graph<T>& op, const Gradients<T>& to, std::int64_t row, std::int64_t head) {
  const RowSoftmax softmax = softmax_of(op, row, head);
  double mean = 0, down = 0;
  for (std::int64_t k = op.offsets[row]; k < op.offsets[row + 1]; ++k) {
    const double logit = op.logit(k, softmax.own, head), p = std::exp(logit * slope_at(logit) - softmax.log_sum);
    const double kept = op.dropout.of_edge(row, op.indices[k], head);
    const double dp = kept * weight_gradient(op, to, row, k, head);
    mean += p * dp;
    to.weights[k * op.heads + head] = p * kept;
    to.dscores[k * op.heads + head] = dp;
  }
  for (std::int64_t k = op.offsets[row]; k < op.offsets[row + 1]; ++k) {
    const double logit = op.logit(k, softmax.own, head), slope = slope_at(logit);
    const double p = std::exp(logit * slope - softmax.log_sum);
    double& d = to.dscores[k * op.heads + head];
    d = p * (d - mean) * slope * op.factor(k);
    down += d;
  }
  to.down[row * op.heads + head] = down;
}

template <class T>
__global__ void entries(Graph<T> op, Gradients<T> to) {
  for (std::int64_t i = grid_thread(); i < op.rows * op.heads; i += grid_threads()) {
    entries_of_row(op, to, i / op.heads, i % op.heads);
  }
}

/// The row of entry k: the last one that begins at or before k and is not empty.
template <class T>
__device__ std::int64_t row_of(const Graph<T>& op, std::int64_t k) {
  std::int64_t low = 0, high = op.rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (op.offsets[middle] <= k ? low : high) = middle;
  }
  return low;
}

/// Adds entry k to its column; the lanes of a warp share its features and heads.
template <class T>
__device__ void add_entry(const Graph<T>& op, const Gradients<T>& to, std::int64_t k) {
  const std::int64_t column = op.indices[k], row = row_of(op, k), width = op.width();
  for (std::int64_t c = lane(); c < width; c += warp_lanes) {
    to.df[column * width + c] += to.weights[k * op.heads + c / op.depth] * to.dz(row * width + c);
  }
  for (std::int64_t head = lane(); head < op.heads; head += warp_lanes) {
    to.up[column * op.heads + head] += to.dscores[k * op.heads + head];
  }
}

/// df and up of the columns, which a warp has `range` of.
template <class T>
__global__ void sum_columns(Graph<T> op, Gradients<T> to, std::int64_t range) {
  const std::int64_t first = grid_thread() / warp_lanes * range, last = min(first + range, op.columns);
  for (std::int64_t column = first; column < last; ++column) {
    for (std::int64_t c = lane(); c < op.width(); c += warp_lanes) to.df[column * op.width() + c] = 0;
    for (std::int64_t head = lane(); head < op.heads; head += warp_lanes) to.up[column * op.heads + head] = 0;
  }
  for (std::int64_t k = 0; k < op.nonzeros; ++k) {
    if (op.indices[k] >= first && op.indices[k] < last) add_entry(op, to, k);
  }
}

/// Stores df with the gradients of the scores l_j and r_j.
template <class T>
__global__ void finish_columns(Graph<T> op, Gradients<T> to, T* df, bool add) {
  for (std::int64_t i = grid_thread(); i < op.columns * op.width(); i += grid_threads()) {
    const std::int64_t column = i / op.width(), c = i % op.width(), at = column * op.heads + c / op.depth;
    double sum = to.df[i] + to.up[at] * static_cast<double>(op.right[c]);
    if (column < op.rows) sum += to.down[at] * static_cast<double>(op.left[c]);
    df[i] = static_cast<T>((add ? static_cast<double>(df[i]) : 0.0) + sum);
  }
}

/// parts [gridDim.x, 2 H D]: dleft and dright of a range of columns.
template <class T>
__global__ void sum_vectors(Graph<T> op, Gradients<T> to) {
  const std::int64_t width = op.width(), first = blockIdx.x * op.columns / gridDim.x,
                     last = (blockIdx.x + std::int64_t{1}) * op.columns / gridDim.x;
  for (std::int64_t i = threadIdx.x; i < 2 * width; i += blockDim.x) {
    const std::int64_t c = i % width, end = i < width ? min(last, op.rows) : last;
    const double* scores = i < width ? to.down : to.up;
    double sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      sum += scores[j * op.heads + c / op.depth] * static_cast<double>(op.f[j * width + c]);
    }
    to.parts[blockIdx.x * 2 * width + i] = sum;
  }
}

void run_forward(const GraphAttention& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> to{op.y.data<T>(), op.z.data<T>(), op.slopes.data<T>(), op.row_stats.data<T>()};
    launch(context, blocks_for(op.a.rows * op.heads, threads), threads, 0, forward<T>, arrays_of<T>(op), to);
  });
}

template <class T>
Gradients<T> scratch_for(const GraphAttentionBackward& op, const KernelContext& context, std::int64_t parts) {
  const std::size_t per_entry = scratch_part(op.a.nonzeros * op.heads, sizeof(double)),
                    per_head = scratch_part(op.f.rows() * op.heads, sizeof(double)),
                    per_column = scratch_part(op.f.elements(), sizeof(double)),
                    per_part = scratch_part(parts * 2 * op.f.columns(), sizeof(double));
  std::byte* next = context.scratch(2 * per_entry + 2 * per_head + per_column + per_part);
  const auto take = [&](std::size_t bytes) {
    next += bytes;
    return reinterpret_cast<double*>(next - bytes);
  };
  Gradients<T> to{op.z.data<T>(), op.dy.data<T>(), take(per_entry), nullptr, nullptr, nullptr, nullptr, nullptr};
  to.dscores = take(per_entry);
  to.down = take(per_head);
  to.up = take(per_head);
  to.df = take(per_column);
  to.parts = take(per_part);
  return to;
}

template <class T>
void run_backward_as(const GraphAttentionBackward& op, const KernelContext& context) {
  constexpr std::int64_t most_ranges = 2048;
  const std::int64_t columns = op.f.rows(), width = op.f.columns(), range = (columns + most_ranges - 1) / most_ranges;
  const std::int64_t parts = blocks_with_parts((columns + 31) / 32, 2 * width);
  if (columns == 0) return;
  const Graph<T> graph = arrays_of<T>(op);
  const Gradients<T> to = scratch_for<T>(op, context, parts);
  launch(context, blocks_for(op.a.rows * op.heads, threads), threads, 0, entries<T>, graph, to);
  const std::int64_t ranges = (columns + range - 1) / range;
  launch(context, (ranges * warp_lanes + threads - 1) / threads, threads, 0, sum_columns<T>, graph, to, range);
  launch(context, blocks_for(columns * width, threads), threads, 0, finish_columns<T>, graph, to, op.df.data<T>(),
         op.accumulate_df);
  launch(context, parts, threads, 0, sum_vectors<T>, graph, to);
  const SumTargets<T> targets{{op.dleft.data<T>(), op.dright.data<T>(), nullptr}, {width, 2 * width, 2 * width}, true};
  add_parts(context, to.parts, parts, 2 * width, targets);
}

void run_backward(const GraphAttentionBackward& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttention> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GraphAttentionBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace graph_attention_plain_kernels
}  // namespace strobe::cuda
