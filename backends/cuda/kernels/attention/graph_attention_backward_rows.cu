// Backward of graph attention over the stored transpose, a group of a warp's lanes per column, a lane per feature;
// heads of up to 32 columns, logits not weighted. With dz_i the gradient of z_i, the mean m_i = dz_i . z_i and p_ij
// taken again from the scores and the kept log sums, a column adds up A = sum p_ij d_ij dz_i, B = sum p_ij d_ij s_ij
// dz_i and M = sum p_ij s_ij m_i over its rows in order; then the gradient of r_j is f_j . B - M and that of f_j is A
// plus the gradients of its scores times the vectors. A lane's gathered loads for four entries are on their way
// together. The gradient of l_i needs no entries: dz_i . slopes_i - m_i (its mean slope). Nothing is scattered. Cost
// per entry: an index, one row of dz and three values a head, gathered; f, z, slopes, dy and df once more each; 2 H D
// doubles for each of at most 1024 blocks for the vectors' gradients.
#include "backends/cuda/kernels/attention/graph_attention_lanes.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {
namespace graph_attention_backward_rows_kernels {

constexpr int threads = 256;

/// Device arrays and sizes. own [R, H, 3]: l_i, m_i and log2_e times the log sum; others [C, H]: r_j; down [R, H] and
/// up [C, H]: the gradients of l_i and r_j.
template <class T>
struct Graph {
  const std::int64_t* offsets;  // of the transpose
  const std::int32_t* indices;
  const T *f, *left, *right, *z, *slopes, *row_stats, *dy;
  T *df, *own, *others, *dz, *down, *up;
  std::int64_t rows, columns;
  int heads, depth;
  DropoutFactors dropout;
  bool add;
};

/// dz, m, the log sum and the gradient of l_i: a thread a row and head.
template <class T>
__global__ void take_rows(Graph<T> op) {
  for (std::int64_t i = grid_thread(); i < op.rows * op.heads; i += grid_threads()) {
    const std::int64_t row = i / op.heads, head = i % op.heads;
    T mean{0}, down{0};
    for (std::int64_t at = i * op.depth; at < (i + 1) * op.depth; ++at) {
      const T z = op.z[at], dz = op.dy[at] * (z > T{0} ? T{1} : std::exp(z));
      op.dz[at] = dz;
      mean += dz * z;
      down += dz * op.slopes[at];
    }
    op.own[3 * i + 1] = mean;
    op.own[3 * i + 2] = op.row_stats[row * 2 * op.heads + head] * static_cast<T>(log2_e);
    op.down[i] = down - mean * op.row_stats[(row * 2 + 1) * op.heads + head];
  }
}

/// Sums of one feature of a column; b and m are log2_e times what they are to be.
template <class T>
struct ColumnSums {
  T a{0}, b{0}, m{0};

  __device__ void join(int distance) {
    a += __shfl_xor_sync(0xffffffffu, a, distance);
    b += __shfl_xor_sync(0xffffffffu, b, distance);
    m += __shfl_xor_sync(0xffffffffu, m, distance);
  }
};

template <class T>
__device__ void walk(const Graph<T>& op, std::int64_t column, int feature, int first, int step, ColumnSums<T>& sums) {
  const int heads = op.heads, head = feature / op.depth, width = heads * op.depth;
  const std::int64_t begin = op.offsets[column];
  const int count = static_cast<int>(op.offsets[column + 1] - begin);
  const std::int32_t* const indices = op.indices + begin;
  const T *const own = op.own + 3 * head, *const dz = op.dz + feature, score = op.others[column * heads + head];
  for (int k = first; k < count; k += entries_together * step) {
    std::int32_t rows[entries_together];
    T logits[entries_together], means[entries_together], log_sums[entries_together], gradients[entries_together];
#pragma unroll
    for (int j = 0; j < entries_together; ++j) rows[j] = indices[min(k + j * step, count - 1)];
#pragma unroll
    for (int j = 0; j < entries_together; ++j) {
      const T* const of_row = own + std::int64_t{rows[j]} * (3 * heads);
      logits[j] = of_row[0] + score;
      means[j] = of_row[1];
      log_sums[j] = of_row[2];
      gradients[j] = dz[std::int64_t{rows[j]} * width];
    }
    if (op.dropout.drops) {
      for (int j = 0; j < entries_together; ++j) {
        gradients[j] *= static_cast<T>(op.dropout.of_edge(rows[j], column, head));
      }
    }
#pragma unroll
    for (int j = 0; j < entries_together; ++j) {
      const T slope = slope_of_two(logits[j]), p = power_of_two(logits[j] * slope - log_sums[j]);
      const T weight = k + j * step < count ? p : T{0}, term = weight * gradients[j];
      sums.a += term;
      sums.b += term * slope;
      sums.m += weight * slope * means[j];
    }
  }
}

template <class T>
__device__ void put(const Graph<T>& op, std::int64_t column, int feature, T sum, T up) {
  const std::int64_t at = column * op.heads * op.depth + feature, score = column * op.heads + feature / op.depth;
  T total = sum + up * op.right[feature];
  if (column < op.rows) total += op.down[score] * op.left[feature];
  op.df[at] = op.add ? op.df[at] + total : total;
  if (feature % op.depth == 0) op.up[score] = up;
}

template <class T>
__global__ void __launch_bounds__(threads, sizeof(T) == 4 ? 3 : 1) columns_back(Graph<T> op, RowLanes how) {
  const int own = lane() % how.width(), slot = own / how.lanes, at = own % how.lanes;
  const int depth = op.depth, last = lane() - at + how.lanes - 1;
  const int head_begin = lane() - at + at / depth * depth;  // the lane with the first feature of this lane's head
  const int width = op.heads * op.depth;
  const std::int64_t apart = grid_threads() / warp_lanes * how.rows();
  for (std::int64_t first = grid_thread() / warp_lanes * how.rows(); first < op.columns; first += apart) {
    const std::int64_t column = first + lane() / how.width();
    for (int pass = 0; pass < width; pass += how.features) {
      const int feature = pass + at;
      const bool active = column < op.columns && at < how.features && feature < width;
      ColumnSums<T> sums;
      if (active) walk(op, column, feature, slot, how.slots, sums);
      for (int distance = how.width() / 2; distance >= how.lanes; distance /= 2) sums.join(distance);
      const T product = active ? sums.b * op.f[column * width + feature] : T{0};
      T up{0};
      for (int d = 0; d < depth; ++d) up += __shfl_sync(0xffffffffu, product, min(head_begin + d, last));
      if (active && slot == 0) put(op, column, feature, sums.a, (up - sums.m) * static_cast<T>(1 / log2_e));
    }
  }
}

/// parts [gridDim.x, 2 H D]: dleft and dright of a block's range of columns, which its groups take in turns; their sums
/// are added in order.
template <class T>
__global__ void __launch_bounds__(threads) sum_vectors(Graph<T> op, int groups, double* parts) {
  STROBE_SHARED(double[threads], sums);
  const int width = op.heads * op.depth, own = static_cast<int>(threadIdx.x);
  const std::int64_t first = blockIdx.x * op.columns / gridDim.x,
                     last = (blockIdx.x + std::int64_t{1}) * op.columns / gridDim.x;
  for (int begin = 0; begin < 2 * width; begin += threads) {
    const int here = min(2 * width - begin, threads), i = begin + own % here, c = i % width, head = c / op.depth;
    const T* const scores = i < width ? op.down : op.up;
    const std::int64_t end = i < width ? min(last, op.rows) : last;
    double sum = 0;
    if (own < here * groups) {
#pragma unroll 8  // loads in flight
      for (std::int64_t j = first + own / here; j < end; j += groups) {
        sum += static_cast<double>(scores[j * op.heads + head]) * static_cast<double>(op.f[j * width + c]);
      }
    }
    sums[own] = sum;
    __syncthreads();
    for (int group = 1; group < groups && own < here; ++group) sum += sums[group * here + own];
    if (own < here) parts[blockIdx.x * std::int64_t{2} * width + i] = sum;
    __syncthreads();
  }
}

bool supports(const GraphAttentionBackward& op) {
  return !op.weighted && op.a.transposed_offsets.defined() && op.f.columns() / op.heads <= warp_lanes;
}

template <class T>
Graph<T> arrays_of(const GraphAttentionBackward& op) {
  const std::int64_t rows = op.a.rows, columns = op.f.rows(), heads = op.heads, width = op.f.columns();
  T *const others = op.workspace.data<T>(), *const up = others + columns * heads, *const own = up + columns * heads,
           *const dz = own + rows * 3 * heads, *const down = dz + rows * width;
  return {op.a.transposed_offsets.data<std::int64_t>(),
          op.a.transposed_indices.data<std::int32_t>(),
          op.f.data<T>(),
          op.left.data<T>(),
          op.right.data<T>(),
          op.z.data<T>(),
          op.slopes.data<T>(),
          op.row_stats.data<T>(),
          op.dy.data<T>(),
          op.df.data<T>(),
          own,
          others,
          dz,
          down,
          up,
          rows,
          columns,
          static_cast<int>(heads),
          static_cast<int>(width / heads),
          factors_of(op.dropout),
          op.accumulate_df};
}

template <class T>
void run_as(const GraphAttentionBackward& op, const KernelContext& context) {
  const Graph<T> graph = arrays_of<T>(op);
  const std::int64_t columns = graph.columns, width = op.f.columns();
  if (columns == 0) return;
  launch_scores(context, op.f, op.right, columns, graph.heads, graph.others, 1);
  launch_scores(context, op.f, op.left, graph.rows, graph.heads, graph.own, 3);
  launch(context, blocks_for(graph.rows * graph.heads, threads), threads, 0, take_rows<T>, graph);
  const RowLanes how = row_lanes(graph.heads, graph.depth, op.a.nonzeros / columns);
  launch(context, blocks_for(columns * how.lanes * how.slots, threads), threads, 0, columns_back<T>, graph, how);
  const int groups = static_cast<int>(std::max<std::int64_t>(1, threads / (2 * width)));
  const std::int64_t blocks = blocks_with_parts((columns + 63) / 64, 2 * width);
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * 2 * width, sizeof(double))));
  launch(context, blocks, threads, 0, sum_vectors<T>, graph, groups, parts);
  const SumTargets<T> targets{{op.dleft.data<T>(), op.dright.data<T>(), nullptr}, {width, 2 * width, 2 * width}, true};
  add_parts(context, parts, blocks, 2 * width, targets);
}

void run(const GraphAttentionBackward& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttentionBackward> rows{"cuda", {"rows", 1, supports, run}};

}  // namespace graph_attention_backward_rows_kernels
}  // namespace strobe::cuda
