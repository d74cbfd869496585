// Attention over a vertex's own past, for timelines and packed lanes too long for temporal_attention_tiles.cu, with a
// block per tile of vertices over all steps, heads of up to 16 columns: a thread has one query (forward, and its
// gradient) or one key and value (their gradients) with its columns in registers, 4, 8 or 16 with zeros after the
// head's, and walks over the steps it looks at once, with a running maximum. The tile's queries, keys and values are
// read again step by step, but by the same block, out of the caches. Backward keeps each query's log sum and mean
// weight gradient in scratch, so that keys and values gather what they are given; sums over the tile's vertices follow
// in the same launch, a second one adds the blocks' parts in order. Kernels of packed sequences are their own: a walk
// ends where the sequence does, and there are no sums. Cost: projected, d_o, o and dprojected once each, and backward 2
// values per query and head, of timelines dprojected once more out of caches and 3 (first + S) F doubles a block.
#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {
namespace temporal_attention_vertices_kernels {

constexpr int threads = 128;

/// Device arrays and sizes. Part 0 is the query, 1 the key, 2 the value; `tile` vertices a block.
template <class T>
struct Past {
  using Element = T;
  static constexpr bool packed = false;
  const T *projected, *offsets, *d_o;
  T *o, *dprojected, *stats;  // stats [S, n, H, 2]: log sum, mean
  double* parts;
  std::int64_t n, first, steps, heads, width, tile;
  int depth;
  T scale;
  DropoutFactors dropout;

  __device__ std::int64_t total() const { return first + steps; }
  __device__ T kept(std::int64_t v, std::int64_t t, std::int64_t s, std::int64_t head) const {
    return dropout.drops ? static_cast<T>(dropout.of_past(v, t, s, head)) : T{1};
  }
  /// The first step that a query looks at, whether it is at or before step s, and whether the query looks at all.
  __device__ std::int64_t begin(std::int64_t, std::int64_t) const { return 0; }
  __device__ bool reaches(std::int64_t, std::int64_t, std::int64_t) const { return true; }
  __device__ bool wanted(std::int64_t, std::int64_t) const { return true; }
  /// The first element of a head's part of a step in dprojected; o and d_o have a row a query.
  __device__ std::int64_t at(std::int64_t step, std::int64_t v, int part, std::int64_t column) const {
    return ((step * n + v) * 3 + part) * width + column;
  }
  __device__ std::int64_t query(std::int64_t t, std::int64_t v) const { return (t - first) * n + v; }
};

/// The same of packed sequences, lanes for vertices: without offsets.
template <class T>
struct PackedPast : Past<T> {
  static constexpr bool packed = true;
  const std::int32_t* sequences;  // [S n, 3]: of TemporalAttention

  __device__ std::int64_t row(std::int64_t t, std::int64_t v) const { return t * this->n + v; }
  __device__ std::int64_t begin(std::int64_t t, std::int64_t v) const { return sequences[3 * row(t, v)]; }
  __device__ bool reaches(std::int64_t t, std::int64_t v, std::int64_t s) const { return begin(t, v) <= s; }
  __device__ bool wanted(std::int64_t t, std::int64_t v) const { return sequences[3 * row(t, v) + 2] != 0; }
  __device__ T kept(std::int64_t v, std::int64_t t, std::int64_t s, std::int64_t head) const {
    if (!this->dropout.drops) return T{1};
    const std::int64_t step = sequences[3 * row(t, v) + 1];  // in the graph
    return static_cast<T>(this->dropout.of_past(row(t, v), step, step - (t - s), head));
  }
};

/// D columns of a head in registers.
template <class T, int D>
struct Columns {
  T of[D];

  __device__ void clear() {
    for (int d = 0; d < D; ++d) of[d] = T{0};
  }
  __device__ void load(const T* from, int depth) {
    for (int d = 0; d < D; ++d) of[d] = d < depth ? from[d] : T{0};
  }
  /// A head's part of a step, offsets added.
  template <class Arrays>
  __device__ void load(const Arrays& op, std::int64_t step, std::int64_t v, int part, std::int64_t head) {
    const std::int64_t column = head * op.depth;
    const T* const from = op.projected + op.at(step, v, part, column);
    if constexpr (Arrays::packed) return load(from, op.depth);
    const T* const shift = op.offsets + (step * 3 + part) * op.width + column;
    for (int d = 0; d < D; ++d) of[d] = d < op.depth ? from[d] + shift[d] : T{0};
  }
  __device__ T dot(const Columns& with) const {
    T sum{0};
    for (int d = 0; d < D; ++d) sum += of[d] * with.of[d];
    return sum;
  }
  __device__ void scale_by(T factor) {
    for (int d = 0; d < D; ++d) of[d] *= factor;
  }
  __device__ void add(T factor, const Columns& other) {
    for (int d = 0; d < D; ++d) of[d] += factor * other.of[d];
  }
  __device__ void put(T factor, T* to, int depth) const {
    for (int d = 0; d < D; ++d) {
      if (d < depth) to[d] = factor * of[d];
    }
  }
};

/// Weight of the next score under the running maximum, and what the sums so far are to be multiplied with.
template <class T>
struct RunningMaximum {
  T largest{-1e30}, sum{0};

  __device__ T next(T score, T& earlier) {
    const T ratio = std::exp(-std::abs(score - largest));
    const bool grows = score > largest;
    earlier = grows ? ratio : T{1};
    const T weight = grows ? T{1} : ratio;
    largest = grows ? score : largest;
    sum = sum * earlier + weight;
    return weight;
  }
};

/// Zeros for a query that does not look.
template <class T>
__device__ void put_zeros(T* to, int depth) {
  for (int d = 0; d < depth; ++d) to[d] = T{0};
}

template <int D, class Arrays>
__device__ void look_back(const Arrays& op, std::int64_t t, std::int64_t v, std::int64_t head) {
  using T = typename Arrays::Element;
  Columns<T, D> query, key, value, result;
  if (!op.wanted(t, v)) return put_zeros(op.o + op.query(t, v) * op.width + head * op.depth, op.depth);
  query.load(op, t, v, 0, head);
  result.clear();
  RunningMaximum<T> running;
  for (std::int64_t s = op.begin(t, v); s <= t; ++s) {
    key.load(op, s, v, 1, head);
    value.load(op, s, v, 2, head);
    T earlier;
    const T weight = running.next(op.scale * query.dot(key), earlier);
    result.scale_by(earlier);
    result.add(weight * op.kept(v, t, s, head), value);
  }
  result.put(T{1} / running.sum, op.o + op.query(t, v) * op.width + head * op.depth, op.depth);
}

/// A tile's items: calls body(step, vertex, head) for the steps [begin, end), vertices and heads side by side.
template <class Arrays, class Body>
__device__ void over_tile(const Arrays& op, std::int64_t tile_first, std::int64_t begin, std::int64_t end,
                          const Body& body) {
  const std::int64_t vertices = min(op.tile, op.n - tile_first), row = vertices * op.heads;
  for (std::int64_t i = threadIdx.x; i < (end - begin) * row; i += blockDim.x) {
    body(begin + i / row, tile_first + i % row / op.heads, i % op.heads);
  }
}

template <class Arrays, int D>
__global__ void __launch_bounds__(threads) forward(Arrays op) {
  for (std::int64_t v = blockIdx.x * op.tile; v < op.n; v += gridDim.x * op.tile) {
    over_tile(op, v, op.first, op.total(),
              [&](std::int64_t t, std::int64_t vertex, std::int64_t head) { look_back<D>(op, t, vertex, head); });
  }
}

/// The gradient of one query, its log sum and the mean gradient of its weights.
template <int D, class Arrays>
__device__ void query_back(const Arrays& op, std::int64_t t, std::int64_t v, std::int64_t head) {
  using T = typename Arrays::Element;
  Columns<T, D> query, key, value, d_o, keys, weighted_keys;
  if (!op.wanted(t, v)) return put_zeros(op.dprojected + op.at(t, v, 0, head * op.depth), op.depth);
  query.load(op, t, v, 0, head);
  d_o.load(op.d_o + op.query(t, v) * op.width + head * op.depth, op.depth);
  keys.clear();
  weighted_keys.clear();
  RunningMaximum<T> running;
  T mean{0};
  for (std::int64_t s = op.begin(t, v); s <= t; ++s) {
    key.load(op, s, v, 1, head);
    value.load(op, s, v, 2, head);
    T earlier;
    const T weight = running.next(op.scale * query.dot(key), earlier);
    const T gradient = op.kept(v, t, s, head) * d_o.dot(value);
    mean = mean * earlier + weight * gradient;
    keys.scale_by(earlier);
    keys.add(weight, key);
    weighted_keys.scale_by(earlier);
    weighted_keys.add(weight * gradient, key);
  }
  const T norm = T{1} / running.sum;
  mean *= norm;
  weighted_keys.add(-mean, keys);
  weighted_keys.put(op.scale * norm, op.dprojected + op.at(t, v, 0, head * op.depth), op.depth);
  T* stats = op.stats + 2 * (op.query(t, v) * op.heads + head);
  stats[0] = running.largest + std::log(running.sum);
  stats[1] = mean;
}

/// The gradients of one key and value, and of a query before the first one.
template <int D, class Arrays>
__device__ void key_back(const Arrays& op, std::int64_t s, std::int64_t v, std::int64_t head) {
  using T = typename Arrays::Element;
  Columns<T, D> query, key, value, d_o, dkey, dvalue;
  key.load(op, s, v, 1, head);
  value.load(op, s, v, 2, head);
  dkey.clear();
  dvalue.clear();
  for (std::int64_t t = max(s, op.first); t < op.total() && op.reaches(t, v, s); ++t) {
    if (!op.wanted(t, v)) continue;
    query.load(op, t, v, 0, head);
    d_o.load(op.d_o + op.query(t, v) * op.width + head * op.depth, op.depth);
    const T* stats = op.stats + 2 * (op.query(t, v) * op.heads + head);
    const T weight = std::exp(op.scale * query.dot(key) - stats[0]), kept = op.kept(v, t, s, head);
    dkey.add(weight * (kept * d_o.dot(value) - stats[1]), query);
    dvalue.add(weight * kept, d_o);
  }
  dkey.put(op.scale, op.dprojected + op.at(s, v, 1, head * op.depth), op.depth);
  dvalue.put(T{1}, op.dprojected + op.at(s, v, 2, head * op.depth), op.depth);
  if (s >= op.first) return;
  query.clear();
  query.put(T{1}, op.dprojected + op.at(s, v, 0, head * op.depth), op.depth);
}

/// Adds the tile's rows of dprojected to the block's part.
template <class T>
__device__ void sum_tile(const Past<T>& op, std::int64_t tile_first, bool store) {
  const std::int64_t columns = 3 * op.width, sums = op.total() * columns;
  const std::int64_t last = min(tile_first + op.tile, op.n);
  double* const part = op.parts + blockIdx.x * sums;
  for (std::int64_t i = threadIdx.x; i < sums; i += blockDim.x) {
    double sum = store ? 0.0 : part[i];
    for (std::int64_t v = tile_first; v < last; ++v) {
      sum += static_cast<double>(op.dprojected[(i / columns * op.n + v) * columns + i % columns]);
    }
    part[i] = sum;
  }
}

template <class Arrays, int D>
__global__ void __launch_bounds__(threads) backward(Arrays op) {
  const std::int64_t apart = gridDim.x * op.tile;
  for (std::int64_t v = blockIdx.x * op.tile; v < op.n; v += apart) {
    over_tile(op, v, op.first, op.total(),
              [&](std::int64_t t, std::int64_t vertex, std::int64_t head) { query_back<D>(op, t, vertex, head); });
    __syncthreads();
    over_tile(op, v, 0, op.total(),
              [&](std::int64_t s, std::int64_t vertex, std::int64_t head) { key_back<D>(op, s, vertex, head); });
    if constexpr (Arrays::packed) continue;
    __syncthreads();
    sum_tile(op, v, v < apart);
  }
}

/// Calls body(integral_constant<D>) for the padded depth; false where there is none.
template <class Body>
bool with_depth(std::int64_t depth, const Body& body) {
  return depth <= 16 && with_width<4, 8, 16>(depth <= 4 ? 4 : depth <= 8 ? 8 : 16, body);
}

template <class Op>
bool supports(const Op& op) {
  return with_depth(op.projected.columns() / 3 / op.heads, [](auto) { return true; });
}

template <class T, class Op>
Past<T> arrays_of(const Op& op, std::int64_t n) {
  Past<T> past{};
  past.projected = op.projected.template data<T>();
  past.offsets = op.offsets.template data<T>();
  past.n = n;
  past.first = op.first;
  past.steps = op.steps;
  past.heads = op.heads;
  past.width = op.projected.columns() / 3;
  past.depth = static_cast<int>(past.width / past.heads);
  past.tile = std::max<std::int64_t>(1, threads / op.heads);
  past.scale = static_cast<T>(op.scale);
  past.dropout = factors_of(op.dropout);
  return past;
}

/// Calls body(past) with `past`, or with that of packed sequences.
template <class T, class Op, class Body>
void with_packing(const Past<T>& past, const Op& op, const Body& body) {
  if (without_sequences(op)) return body(past);
  body(PackedPast<T>{past, op.sequences.template data<std::int32_t>()});
}

void run_forward(const TemporalAttention& op, KernelContext& context) {
  with_element(op.o.type(), [&](auto zero) {
    using T = decltype(zero);
    Past<T> past = arrays_of<T>(op, op.vertices());
    past.o = op.o.data<T>();
    with_packing(past, op, [&](const auto& arrays) {
      with_depth(past.depth, [&](auto depth) {
        launch(context, blocks_for(past.n, static_cast<int>(past.tile)), threads, 0,
               forward<std::remove_cvref_t<decltype(arrays)>, depth>, arrays);
        return true;
      });
    });
  });
}

template <class T>
void run_backward_as(const TemporalAttentionBackward& op, const KernelContext& context) {
  Past<T> past = arrays_of<T>(op, op.steps == 0 ? 0 : op.d_o.rows() / op.steps);
  const std::int64_t values = (op.first + op.steps) * 3 * past.width, sums = without_sequences(op) ? values : 0;
  if (values == 0) return;
  const std::int64_t tiles = divide_up(past.n, past.tile);
  const std::int64_t blocks = sums > 0 ? blocks_with_parts(tiles, sums) : blocks_for(tiles, 1);
  const std::size_t part_bytes = scratch_part(blocks * sums, sizeof(double));
  std::byte* const scratch = context.scratch(part_bytes + scratch_part(2 * op.d_o.rows() * op.heads, sizeof(T)));
  past.d_o = op.d_o.data<T>();
  past.dprojected = op.dprojected.data<T>();
  past.parts = reinterpret_cast<double*>(scratch);
  past.stats = reinterpret_cast<T*>(scratch + part_bytes);
  with_packing(past, op, [&](const auto& arrays) {
    with_depth(past.depth, [&](auto depth) {
      launch(context, blocks, threads, 0, backward<std::remove_cvref_t<decltype(arrays)>, depth>, arrays);
      return true;
    });
  });
  if (sums == 0) return;
  const SumTargets<T> targets{{op.doffsets.data<T>(), nullptr, nullptr}, {sums, sums, sums}, false};
  add_parts(context, past.parts, blocks, sums, targets);
}

void run_backward(const TemporalAttentionBackward& op, KernelContext& context) {
  with_element(op.d_o.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<TemporalAttention> vertices{"cuda", {"vertices", 1, supports<TemporalAttention>, run_forward}};
const RegisterKernel<TemporalAttentionBackward> backward_vertices{
    "cuda", {"vertices", 1, supports<TemporalAttentionBackward>, run_backward}};

}  // namespace temporal_attention_vertices_kernels
}  // namespace strobe::cuda
