// Plain attention over a vertex's own past (DySAT: Sankar et al., WSDM'20, section 4.3) and its gradient, by the
// definitions, in double: scores are computed again wherever they are needed, and nothing is scattered - a thread has
// one query and head forward, one element of a query, key and value backward. Sums over vertices go tile by tile of
// vertices, then over tiles in order. Cost 3 T^2 F D FLOPs per vertex forward, some 10 T^2 F D backward for heads of D
// columns; reads hit caches, beyond the compulsory bytes 16 per query and head and 3 (first + S) F doubles a part are
// written.
#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {
namespace temporal_attention_plain_kernels {

constexpr int threads = 128;

/// Device arrays and sizes. Part 0 is the query, 1 the key, 2 the value.
template <class T>
struct Past {
  const T *projected, *offsets;
  std::int64_t n, first, steps, heads, depth;
  double scale;
  DropoutFactors dropout;
  const std::int32_t* sequences;  // [S n, 3] of packed sequences, else null

  __device__ std::int64_t width() const { return heads * depth; }
  __device__ double at(std::int64_t step, std::int64_t v, int part, std::int64_t column) const {
    return static_cast<double>(projected[((step * n + v) * 3 + part) * width() + column]) +
           (offsets == nullptr ? 0.0 : static_cast<double>(offsets[(step * 3 + part) * width() + column]));
  }
  /// The first step that the row of vertex or lane v at step t looks at; the row's step in the graph; whether it asks.
  __device__ std::int64_t begin(std::int64_t t, std::int64_t v) const {
    return sequences == nullptr ? 0 : sequences[3 * (t * n + v)];
  }
  __device__ std::int64_t graph_step(std::int64_t t, std::int64_t v) const {
    return sequences == nullptr ? t : sequences[3 * (t * n + v) + 1];
  }
  __device__ bool wanted(std::int64_t t, std::int64_t v) const {
    return t >= first && (sequences == nullptr || sequences[3 * (t * n + v) + 2] != 0);
  }
  /// Dropout's factor of the query at step t for step s.
  __device__ double factor(std::int64_t v, std::int64_t t, std::int64_t s, std::int64_t head) const {
    if (!dropout.drops) return 1;
    return dropout.of_past(sequences == nullptr ? v : t * n + v, graph_step(t, v), graph_step(s, v), head);
  }
  __device__ double score(std::int64_t t, std::int64_t s, std::int64_t v, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t c = head * depth; c < (head + 1) * depth; ++c) sum += at(t, v, 0, c) * at(s, v, 1, c);
    return scale * sum;
  }
  /// log sum of exp score over the steps that the query at t looks at.
  __device__ double log_sum(std::int64_t t, std::int64_t v, std::int64_t head) const {
    const std::int64_t low = begin(t, v);
    double largest = score(t, low, v, head), sum = 0;
    for (std::int64_t s = low + 1; s <= t; ++s) largest = max(largest, score(t, s, v, head));
    for (std::int64_t s = low; s <= t; ++s) sum += std::exp(score(t, s, v, head) - largest);
    return largest + std::log(sum);
  }
};

template <class T, class Op>
Past<T> arrays_of(const Op& op, std::int64_t n) {
  return {op.projected.template data<T>(),
          op.offsets.template data<T>(),
          n,
          op.first,
          op.steps,
          op.heads,
          op.projected.columns() / 3 / op.heads,
          op.scale,
          factors_of(op.dropout),
          op.sequences.template data<std::int32_t>()};
}

template <class T>
__global__ void forward(Past<T> op, T* o) {
  for (std::int64_t i = grid_thread(); i < op.steps * op.n * op.heads; i += grid_threads()) {
    const std::int64_t head = i % op.heads, v = i / op.heads % op.n, t = op.first + i / op.heads / op.n;
    const bool wanted = op.wanted(t, v);
    const double log_sum = wanted ? op.log_sum(t, v, head) : 0.0;
    for (std::int64_t c = head * op.depth; c < (head + 1) * op.depth; ++c) {
      double sum = 0;
      for (std::int64_t s = op.begin(t, v); wanted && s <= t; ++s) {
        sum += std::exp(op.score(t, s, v, head) - log_sum) * op.factor(v, t, s, head) * op.at(s, v, 2, c);
      }
      o[((t - op.first) * op.n + v) * op.width() + c] = static_cast<T>(sum);
    }
  }
}

/// The gradient of the weight of step s in the query at t, after dropout.
template <class T>
__device__ double weight_gradient(const Past<T>& op, const T* d_o, std::int64_t t, std::int64_t s, std::int64_t v,
                                  std::int64_t head) {
  const T* row = d_o + ((t - op.first) * op.n + v) * op.width();
  double sum = 0;
  for (std::int64_t c = head * op.depth; c < (head + 1) * op.depth; ++c) {
    sum += static_cast<double>(row[c]) * op.at(s, v, 2, c);
  }
  return op.factor(v, t, s, head) * sum;
}

/// stats [S, n, H, 2]: log sum of exponentials and the mean of the weights' gradients of every query whose output is
/// wanted.
template <class T>
__global__ void query_stats(Past<T> op, const T* d_o, double* stats) {
  for (std::int64_t i = grid_thread(); i < op.steps * op.n * op.heads; i += grid_threads()) {
    const std::int64_t head = i % op.heads, v = i / op.heads % op.n, t = op.first + i / op.heads / op.n;
    if (!op.wanted(t, v)) continue;
    const double log_sum = op.log_sum(t, v, head);
    double mean = 0;
    for (std::int64_t s = op.begin(t, v); s <= t; ++s) {
      mean += std::exp(op.score(t, s, v, head) - log_sum) * weight_gradient(op, d_o, t, s, v, head);
    }
    stats[2 * i] = log_sum;
    stats[2 * i + 1] = mean;
  }
}

/// Weight of step s in the query at t, and the gradient of its score.
struct Seen {
  double weight, dscore;
};

template <class T>
__device__ Seen look_back(const Past<T>& op, const T* d_o, const double* stats, std::int64_t t, std::int64_t s,
                          std::int64_t v, std::int64_t head) {
  const double* own = stats + 2 * (((t - op.first) * op.n + v) * op.heads + head);
  const double weight = std::exp(op.score(t, s, v, head) - own[0]);
  return {weight, op.scale * weight * (weight_gradient(op, d_o, t, s, v, head) - own[1])};
}

/// One column of a step's query, key and value.
template <class T>
__global__ void backward(Past<T> op, const T* d_o, const double* stats, T* dprojected) {
  const std::int64_t total = op.first + op.steps, width = op.width();
  for (std::int64_t i = grid_thread(); i < total * op.n * width; i += grid_threads()) {
    const std::int64_t c = i % width, v = i / width % op.n, step = i / width / op.n, head = c / op.depth;
    double dq = 0, dk = 0, dv = 0;
    for (std::int64_t s = op.begin(step, v); op.wanted(step, v) && s <= step; ++s) {
      dq += look_back(op, d_o, stats, step, s, v, head).dscore * op.at(s, v, 1, c);
    }
    for (std::int64_t t = max(step, op.first); t < total && op.begin(t, v) <= step; ++t) {
      if (!op.wanted(t, v)) continue;
      const Seen seen = look_back(op, d_o, stats, t, step, v, head);
      dk += seen.dscore * op.at(t, v, 0, c);
      dv +=
          seen.weight * op.factor(v, t, step, head) * static_cast<double>(d_o[((t - op.first) * op.n + v) * width + c]);
    }
    T* to = dprojected + (step * op.n + v) * 3 * width + c;
    to[0] = static_cast<T>(dq);
    to[width] = static_cast<T>(dk);
    to[2 * width] = static_cast<T>(dv);
  }
}

/// parts [gridDim.x, total, 3 F]: sums of dprojected over the vertices of each part.
template <class T>
__global__ void sum_vertices(const T* dprojected, std::int64_t n, std::int64_t steps, std::int64_t columns,
                             double* parts) {
  const std::int64_t first = blockIdx.x * n / gridDim.x, last = (blockIdx.x + std::int64_t{1}) * n / gridDim.x;
  for (std::int64_t i = threadIdx.x; i < steps * columns; i += blockDim.x) {
    double sum = 0;
    for (std::int64_t v = first; v < last; ++v) {
      sum += static_cast<double>(dprojected[(i / columns * n + v) * columns + i % columns]);
    }
    parts[blockIdx.x * steps * columns + i] = sum;
  }
}

void run_forward(const TemporalAttention& op, KernelContext& context) {
  with_element(op.o.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.o.rows() * op.heads, threads), threads, 0, forward<T>,
           arrays_of<T>(op, op.vertices()), op.o.data<T>());
  });
}

template <class T>
void run_backward_as(const TemporalAttentionBackward& op, const KernelContext& context) {
  const std::int64_t n = op.steps == 0 ? 0 : op.d_o.rows() / op.steps;
  const std::int64_t total = op.first + op.steps, columns = op.projected.columns(), sums = op.doffsets.elements();
  const std::int64_t parts = sums == 0 ? 0 : blocks_with_parts((n + 31) / 32, sums), queries = op.d_o.rows() * op.heads;
  const std::size_t part_bytes = scratch_part(parts * sums, sizeof(double));
  std::byte* const scratch = context.scratch(part_bytes + scratch_part(2 * queries, sizeof(double)));
  auto* const stats = reinterpret_cast<double*>(scratch + part_bytes);
  auto* const sum_parts = reinterpret_cast<double*>(scratch);
  const Past<T> past = arrays_of<T>(op, n);
  const T* d_o = op.d_o.data<T>();
  T* const to = op.dprojected.data<T>();
  launch(context, blocks_for(queries, threads), threads, 0, query_stats<T>, past, d_o, stats);
  launch(context, blocks_for(total * n * columns / 3, threads), threads, 0, backward<T>, past, d_o, stats, to);
  if (sums == 0) return;
  launch(context, parts, threads, 0, sum_vertices<T>, static_cast<const T*>(to), n, total, columns, sum_parts);
  const SumTargets<T> targets{{op.doffsets.data<T>(), nullptr, nullptr}, {sums, sums, sums}, false};
  add_parts(context, sum_parts, parts, sums, targets);
}

void run_backward(const TemporalAttentionBackward& op, KernelContext& context) {
  with_element(op.d_o.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<TemporalAttention> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<TemporalAttentionBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace temporal_attention_plain_kernels
}  // namespace strobe::cuda
