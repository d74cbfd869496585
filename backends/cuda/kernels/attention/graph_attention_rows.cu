// Graph attention with a group of a warp's lanes per row, a lane per feature; heads of up to 32 columns. Scores of all
// vertices come first, one launch for each side; then every lane walks over its slot's entries once, four at a time so
// that their gathered loads are on their way together, with a running maximum (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018), so neither weights nor partial sums leave the registers, and the slots'
// sums are joined as a tree over lane distance. Weights are powers of 2. Cost per entry: an index, one
// row of f and of the scores, gathered; per row 3 H D + 2 H values written; the scores are written and read once more.
#include "backends/cuda/kernels/attention/graph_attention_lanes.hpp"

namespace strobe::cuda {
namespace graph_attention_rows_kernels {

constexpr int threads = 256;

/// Device arrays and sizes; `values` is null when logits are not weighted.
template <class T>
struct Graph {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T *values, *f, *own, *others;  // own [R, H]: l_i; others [C, H]: r_j
  T *y, *z, *slopes, *row_stats;
  std::int64_t rows;
  int heads, depth;
  DropoutFactors dropout;
};

/// The entries that a lane looks at together; a missing entry has a logit of -1e30.
template <class T>
struct Seen {
  T logits[entries_together], slopes[entries_together], kept[entries_together], features[entries_together];
};

/// Softmax-weighted sums of one feature over some entries, relative to 2^largest; tilts and slopes are log2_e
/// times what they are to be.
template <class T>
struct Running {
  T largest{-1e30}, sum{0}, tilts{0}, z{0}, slopes{0};

  __device__ void scale(T factor) {
    sum *= factor;
    tilts *= factor;
    z *= factor;
    slopes *= factor;
  }
  __device__ void add(const Seen<T>& seen) {
    T most = largest;
    for (const T logit : seen.logits) most = max(most, logit);
    scale(power_of_two(largest - most));
    largest = most;
#pragma unroll
    for (int j = 0; j < entries_together; ++j) {
      const T weight = power_of_two(seen.logits[j] - most), term = weight * seen.kept[j] * seen.features[j];
      sum += weight;
      tilts += weight * seen.slopes[j];
      z += term;
      slopes += term * seen.slopes[j];
    }
  }
  /// Joins with the lane at `distance`, which does the same; every lane of the warp calls it.
  __device__ void join(int distance) {
    Running other;
    other.largest = __shfl_xor_sync(0xffffffffu, largest, distance);
    other.sum = __shfl_xor_sync(0xffffffffu, sum, distance);
    other.tilts = __shfl_xor_sync(0xffffffffu, tilts, distance);
    other.z = __shfl_xor_sync(0xffffffffu, z, distance);
    other.slopes = __shfl_xor_sync(0xffffffffu, slopes, distance);
    const T both = max(largest, other.largest);
    scale(power_of_two(largest - both));
    other.scale(power_of_two(other.largest - both));
    largest = both;
    sum += other.sum;
    tilts += other.tilts;
    z += other.z;
    slopes += other.slopes;
  }
};

template <class T>
__device__ void walk(const Graph<T>& op, std::int64_t row, int feature, int first, int step, Running<T>& running) {
  const int head = feature / op.depth, width = op.heads * op.depth;
  const std::int64_t begin = op.offsets[row];
  const int count = static_cast<int>(op.offsets[row + 1] - begin);
  const std::int32_t* const indices = op.indices + begin;
  const T *const others = op.others + head, *const features = op.f + feature, own = op.own[row * op.heads + head];
  for (int k = first; k < count; k += entries_together * step) {
    std::int32_t columns[entries_together];
    Seen<T> seen;
#pragma unroll
    for (int j = 0; j < entries_together; ++j) columns[j] = indices[min(k + j * step, count - 1)];
#pragma unroll
    for (int j = 0; j < entries_together; ++j) {
      seen.logits[j] = own + others[std::int64_t{columns[j]} * op.heads];
      seen.features[j] = features[std::int64_t{columns[j]} * width];
      seen.kept[j] = T{1};
    }
    if (op.values != nullptr) {
      for (int j = 0; j < entries_together; ++j) seen.logits[j] *= op.values[begin + min(k + j * step, count - 1)];
    }
    if (op.dropout.drops) {
      for (int j = 0; j < entries_together; ++j) {
        seen.kept[j] = static_cast<T>(op.dropout.of_edge(row, columns[j], head));
      }
    }
#pragma unroll
    for (int j = 0; j < entries_together; ++j) {
      seen.slopes[j] = slope_of_two(seen.logits[j]);
      seen.logits[j] = k + j * step < count ? seen.logits[j] * seen.slopes[j] : T{-1e30};
    }
    running.add(seen);
  }
}

template <class T>
__device__ void put(const Graph<T>& op, std::int64_t row, int feature, const Running<T>& running) {
  const int head = feature / op.depth;
  const std::int64_t at = row * op.heads * op.depth + feature;
  const bool any = running.sum > T{0};
  const T norm = any ? T{1} / running.sum : T{0}, z = running.z * norm, tilt = norm * static_cast<T>(1 / log2_e);
  op.z[at] = z;
  op.slopes[at] = running.slopes * tilt;
  op.y[at] = z > T{0} ? z : std::expm1(z);
  if (feature % op.depth != 0) return;
  const T log_sum = (running.largest + std::log2(running.sum)) * static_cast<T>(1 / log2_e);
  op.row_stats[row * 2 * op.heads + head] = any ? log_sum : T{0};
  op.row_stats[(row * 2 + 1) * op.heads + head] = running.tilts * tilt;
}

template <class T>
__global__ void __launch_bounds__(threads, sizeof(T) == 4 ? 4 : 1) forward(Graph<T> op, RowLanes how) {
  const int own = lane() % how.width(), slot = own / how.lanes, at = own % how.lanes;
  const int width = op.heads * op.depth;
  const std::int64_t apart = grid_threads() / warp_lanes * how.rows();
  for (std::int64_t first = grid_thread() / warp_lanes * how.rows(); first < op.rows; first += apart) {
    const std::int64_t row = first + lane() / how.width();
    for (int pass = 0; pass < width; pass += how.features) {
      const bool active = row < op.rows && at < how.features && pass + at < width;
      Running<T> running;
      if (active) walk(op, row, pass + at, slot, how.slots, running);
      for (int distance = how.width() / 2; distance >= how.lanes; distance /= 2) running.join(distance);
      if (active && slot == 0) put(op, row, pass + at, running);
    }
  }
}

bool supports(const GraphAttention& op) { return op.f.columns() / op.heads <= warp_lanes; }

template <class T>
void run_as(const GraphAttention& op, const KernelContext& context) {
  const std::int64_t rows = op.a.rows, columns = op.f.rows(), heads = op.heads, depth = op.f.columns() / heads;
  if (rows == 0) return;
  T *const others = op.workspace.data<T>(), *const own = others + columns * heads;
  launch_scores(context, op.f, op.right, columns, heads, others, 1);
  launch_scores(context, op.f, op.left, rows, heads, own, 1);
  const Graph<T> graph{op.a.row_offsets.data<std::int64_t>(),
                       op.a.column_indices.data<std::int32_t>(),
                       op.weighted ? op.a.values.data<T>() : nullptr,
                       op.f.data<T>(),
                       own,
                       others,
                       op.y.data<T>(),
                       op.z.data<T>(),
                       op.slopes.data<T>(),
                       op.row_stats.data<T>(),
                       rows,
                       static_cast<int>(heads),
                       static_cast<int>(depth),
                       factors_of(op.dropout)};
  const RowLanes how = row_lanes(heads, depth, op.a.nonzeros / rows);
  launch(context, blocks_for(rows * how.lanes * how.slots, threads), threads, 0, forward<T>, graph, how);
}

void run(const GraphAttention& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttention> rows{"cuda", {"rows", 1, supports, run}};

}  // namespace graph_attention_rows_kernels
}  // namespace strobe::cuda
