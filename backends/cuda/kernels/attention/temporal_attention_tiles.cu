// Attention over a vertex's own past out of shared memory (temporal_tiles.hpp), heads of up to 32 columns (16 in
// double) whose timelines fit 48 KiB: up to 1023 steps for 4 columns, 113 for 32, of fp32. Queries, keys and values are
// brought once, whole rows of a step side by side; a thread has one query and head and looks at four steps at a time
// with a running maximum, so that sums are scaled once for four weights, which are powers of 2. Per pair of steps and
// head: two reads of a row that a warp's lanes share, 2 D multiply-adds, a power. The result takes the query's place
// and leaves in whole rows. Cost: projected and o once each, offsets from caches; one launch, no scratch. Queries of
// packed sequences begin where their sequence does.
#include "backends/cuda/kernels/attention/temporal_tiles.hpp"

namespace strobe::cuda {
namespace temporal_attention_tiles_kernels {

constexpr int most_threads = 256, arrays = 3;

/// One query's softmax-weighted sum of values, relative to 2^largest.
template <class T, int D>
struct Query {
  HeadColumns<T, D> query, result;
  T largest{-1e30}, sum{0};

  /// Looks at steps s to s + 3, or those of them up to t.
  template <bool all, class Factors>
  __device__ void look(const Vector<T>* keys, const Vector<T>* values, int s, int t, const Factors& dropout) {
    constexpr int stride = HeadRows<T, D>::stride;
    T weights[4], most = largest;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      weights[j] = all || s + j <= t ? query.dot(keys + (s + j) * stride) : T{-1e30};
      most = max(most, weights[j]);
    }
    const T earlier = power_of_two(largest - most);
    largest = most;
    sum *= earlier;
    result.scale_by(earlier);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      weights[j] = power_of_two(weights[j] - most);
      sum += weights[j];
    }
    dropout.apply(s, weights);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (all || s + j <= t) result.add(weights[j], values + (s + j) * stride);
    }
  }
};

template <int D, class Tiles, class T>
__device__ void look_back(const Tiles& op, const TimelineTile& tile, Vector<T>* shared, int item, int t) {
  using Rows = HeadRows<T, D>;
  Vector<T>* const queries = shared + item * arrays * Rows::array(op.total);
  const Vector<T>*keys = queries + Rows::array(op.total), *values = keys + Rows::array(op.total);
  const auto dropout = op.factors(t, tile.vertex_of(item), tile.head_of(item));
  Query<T, D> look;
  if constexpr (Tiles::packed) {
    look.result.clear();
    if (!op.wanted(t, tile.vertex_of(item))) return look.result.put(T{0}, queries + t * Rows::stride);
  }
  look.query.load(queries + t * Rows::stride);
  look.query.scale_by(op.scale_of_two());
  look.result.clear();
  int s = op.begin(t, tile.vertex_of(item));
  for (; s + 3 <= t; s += 4) look.template look<true>(keys, values, s, t, dropout);
  if (s <= t) look.template look<false>(keys, values, s, t, dropout);
  look.result.put(T{1} / look.sum, queries + t * Rows::stride);
}

template <class Tiles, int D>
__global__ void __launch_bounds__(most_threads, sizeof(typename Tiles::Element) * D <= 16 ? 4 : 1) forward(Tiles op) {
  using T = typename Tiles::Element;
  Vector<T>* const shared = dynamic_shared<Vector<T>>();
  const TimelineTile tile(op, blockIdx.x);
  clear_padding<D>(op, tile.items(), arrays, shared);
  if (op.by_vectors) {
    bring_steps<vector_values<T>, D>(op, tile, 3, 0, op.projected, op.offsets, arrays, 0, shared);
  } else {
    bring_steps<1, D>(op, tile, 3, 0, op.projected, op.offsets, arrays, 0, shared);
  }
  __syncthreads();
  over_steps(op, tile, op.first, [&](int item, int t) { look_back<D>(op, tile, shared, item, t); });
  __syncthreads();
  const auto results = [](int) { return 0; };
  if (op.by_vectors) {
    take_steps<vector_values<T>, D>(op, tile, 1, op.first, op.o, arrays, results, shared);
  } else {
    take_steps<1, D>(op, tile, 1, op.first, op.o, arrays, results, shared);
  }
}

template <class T, int D>
TimelineShape shape_of(const TemporalAttention& op) {
  const std::int64_t total = op.first + op.steps;
  if (total > 4096) return {};
  return timeline_shape(arrays * static_cast<std::size_t>(HeadRows<T, D>::array(static_cast<int>(total))) * 16,
                        op.heads, op.vertices());
}

template <class T>
bool supports_as(const TemporalAttention& op) {
  return with_padded_depth<T>(op.o.columns() / op.heads, [&](auto depth) { return shape_of<T, depth>(op).group > 0; });
}

bool supports(const TemporalAttention& op) {
  return op.o.type() == ElementType::f64 ? supports_as<double>(op) : supports_as<float>(op);
}

template <class T>
void run_as(const TemporalAttention& op, const KernelContext& context) {
  if (op.o.rows() == 0) return;
  with_padded_depth<T>(op.o.columns() / op.heads, [&](auto depth) {
    const TimelineShape shape = shape_of<T, depth>(op);
    TimelineTiles<T> tiles = timeline_tiles<T>(op, shape, op.vertices());
    tiles.o = op.o.data<T>();
    tiles.by_vectors = heads_are_vectors<T>(tiles.depth, tiles.projected, tiles.offsets, tiles.o);
    with_packing(tiles, op, [&](const auto& all) {
      launch(context, tiles.tiles(), timeline_threads(shape, op.steps), shape.bytes,
             forward<std::remove_cvref_t<decltype(all)>, depth>, all);
    });
    return true;
  });
}

void run(const TemporalAttention& op, KernelContext& context) {
  with_element(op.o.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

const RegisterKernel<TemporalAttention> tiles{"cuda", {"tiles", 2, supports, run}};

}  // namespace temporal_attention_tiles_kernels
}  // namespace strobe::cuda
