// Graph attention with a group of a warp's lanes per row, a lane per feature; heads of up to 32 columns. Scores of all
// vertices come first, one launch for each side; then every lane walks over its slot's entries once with a running
// maximum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018), so neither weights nor partial
// sums leave the registers, and the slots' sums are joined as a tree over lane distance. Cost per entry: an index, one
// row of f and of the scores, gathered; per row 3 H D + 2 H values written; the scores are written and read once more.
#include "backends/cuda/kernels/graph_attention_lanes.hpp"

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
  std::int64_t rows, heads, depth;
  DropoutFactors dropout;
};

/// Softmax-weighted sums of one feature over some entries, relative to exp(largest).
template <class T>
struct Running {
  T largest{-1e30}, sum{0}, tilts{0}, z{0}, slopes{0};

  __device__ void scale(T factor) {
    sum *= factor;
    tilts *= factor;
    z *= factor;
    slopes *= factor;
  }
  __device__ void add(T logit, T kept, T feature) {
    const T slope = logit > T{0} ? T{1} : static_cast<T>(leaky_slope), e = logit * slope;
    const T ratio = std::exp(-std::abs(e - largest));
    T weight = ratio;
    if (e > largest) {
      scale(ratio);
      largest = e;
      weight = T{1};
    }
    const T term = weight * kept * feature;
    sum += weight;
    tilts += weight * slope;
    z += term;
    slopes += term * slope;
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
    scale(std::exp(largest - both));
    other.scale(std::exp(other.largest - both));
    largest = both;
    sum += other.sum;
    tilts += other.tilts;
    z += other.z;
    slopes += other.slopes;
  }
};

template <class T>
__device__ void walk(const Graph<T>& op, std::int64_t row, std::int64_t feature, std::int64_t first, std::int64_t step,
                     Running<T>& running) {
  const std::int64_t head = feature / op.depth, end = op.offsets[row + 1];
  const T own = op.own[row * op.heads + head];
  for (std::int64_t k = op.offsets[row] + first; k < end; k += step) {
    const std::int64_t column = op.indices[k];
    const T score = own + op.others[column * op.heads + head];
    const T kept = op.dropout.drops ? static_cast<T>(op.dropout.of_edge(row, column, head)) : T{1};
    running.add(op.values == nullptr ? score : op.values[k] * score, kept,
                op.f[column * op.heads * op.depth + feature]);
  }
}

template <class T>
__device__ void put(const Graph<T>& op, std::int64_t row, std::int64_t feature, const Running<T>& running) {
  const std::int64_t at = row * op.heads * op.depth + feature, head = feature / op.depth;
  const bool any = running.sum > T{0};
  const T norm = any ? T{1} / running.sum : T{0}, z = running.z * norm;
  op.z[at] = z;
  op.slopes[at] = running.slopes * norm;
  op.y[at] = z > T{0} ? z : std::expm1(z);
  if (feature % op.depth != 0) return;
  op.row_stats[row * 2 * op.heads + head] = any ? running.largest + std::log(running.sum) : T{0};
  op.row_stats[(row * 2 + 1) * op.heads + head] = running.tilts * norm;
}

template <class T>
__global__ void __launch_bounds__(threads) forward(Graph<T> op, RowLanes how) {
  const int own = lane() % how.width(), slot = own / how.lanes, at = own % how.lanes;
  const std::int64_t width = op.heads * op.depth, apart = grid_threads() / warp_lanes * how.rows();
  for (std::int64_t first = grid_thread() / warp_lanes * how.rows(); first < op.rows; first += apart) {
    const std::int64_t row = first + lane() / how.width();
    for (std::int64_t pass = 0; pass < width; pass += how.features) {
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
  launch_scores(context, op.f, op.right, columns, heads, others, heads);
  launch_scores(context, op.f, op.left, rows, heads, own, heads);
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
                       heads,
                       depth,
                       factors_of(op.dropout)};
  const RowLanes how = row_lanes(heads, depth, op.a.nonzeros / rows);
  launch(context, blocks_for(rows * how.lanes * how.slots, threads), threads, 0, forward<T>, graph, how);
}

void run(const GraphAttention& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttention> rows{Numerics::cuda, {"rows", 1, supports, run}};

}  // namespace graph_attention_rows_kernels
}  // namespace strobe::cuda
