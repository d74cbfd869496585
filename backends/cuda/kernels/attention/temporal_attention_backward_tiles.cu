// Backward of attention over a vertex's own past out of shared memory (temporal_tiles.hpp), heads of up to 32 columns
// (16 in double) whose timelines fit 48 KiB: up to 557 steps for 4 columns, 67 for 32, of fp32. First a thread has one
// query: it leaves the query's gradient, its log sum (of powers of 2) and the mean gradient of its weights in shared
// memory. Then a thread has one key and value and looks at the queries from the last one down to its own step, so that
// the lanes of a warp begin at the same one. Gradients of keys and values take their places and all leave in whole
// rows. Per pair of steps and head: 8 D multiply-adds, two powers, reads of rows that a warp's lanes share. Sums over
// vertices: blocks have one step and a range of vertices, whose sums a last launch adds in order. Cost: projected, d_o
// and dprojected once each, dprojected once more for the sums, offsets from caches; three launches, 3 F doubles of
// scratch for each step and range.
#include "backends/cuda/kernels/attention/temporal_tiles.hpp"

namespace strobe::cuda {
namespace temporal_attention_backward_tiles_kernels {

constexpr int most_threads = 256;
/// Arrays of an item; the gradients of keys and values lie where keys and values were.
enum Array { queries, keys, values, d_o, dqueries, arrays };

/// The values of a query that the keys need.
template <class T>
using QueryStats = Pack<T, 2>;  // log sum, mean

/// One item in shared memory.
template <class T, int D>
struct Item {
  Vector<T>* memory;
  QueryStats<T>* stats;
  int total;

  __device__ Item(const TimelineTiles<T>& op, const TimelineTile& tile, Vector<T>* shared, int item)
      : memory(shared + item * arrays * HeadRows<T, D>::array(op.total)),
        stats(reinterpret_cast<QueryStats<T>*>(shared + tile.items() * arrays * HeadRows<T, D>::array(op.total)) +
              item * op.total),
        total(op.total) {}

  __device__ Vector<T>* row(Array array, int step) const {
    return memory + array * HeadRows<T, D>::array(total) + step * HeadRows<T, D>::stride;
  }
};

/// One query's sums, relative to 2^largest, over the steps it has looked at. Long rows leave registers for fewer steps
/// at a time.
template <class T, int D>
struct QueryBack {
  static constexpr int together = sizeof(T) * D <= 64 ? 4 : 1;
  HeadColumns<T, D> query, d_out, key_sum, weighted_keys;
  T largest{-1e30}, sum{0}, mean{0};

  template <bool all, class Factors>
  __device__ void look(const Item<T, D>& item, int s, int t, const Factors& dropout) {
    T weights[together], gradients[together], most = largest;
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const bool seen = all || s + j <= t;
      weights[j] = seen ? query.dot(item.row(keys, s + j)) : T{-1e30};
      gradients[j] = seen ? d_out.dot(item.row(values, s + j)) : T{0};
      most = max(most, weights[j]);
    }
    dropout.apply(s, gradients);
    const T earlier = power_of_two(largest - most);
    largest = most;
    sum *= earlier;
    mean *= earlier;
    key_sum.scale_by(earlier);
    weighted_keys.scale_by(earlier);
#pragma unroll
    for (int j = 0; j < together; ++j) {
      if (!all && s + j > t) continue;
      const T weight = power_of_two(weights[j] - most), weighted = weight * gradients[j];
      sum += weight;
      mean += weighted;
      key_sum.add(weight, item.row(keys, s + j));
      weighted_keys.add(weighted, item.row(keys, s + j));
    }
  }
};

/// The gradient of a query of `vertex`, zero before the first one and where it does not look, and its stats.
template <class Tiles, class T, int D, class Factors>
__device__ void query_back(const Tiles& op, const Item<T, D>& item, int t, std::int64_t vertex,
                           const Factors& dropout) {
  QueryBack<T, D> back;
  back.key_sum.clear();
  back.weighted_keys.clear();
  if (!op.wanted(t, vertex)) return back.weighted_keys.put(T{0}, item.row(dqueries, t));
  back.query.load(item.row(queries, t));
  back.query.scale_by(op.scale_of_two());
  back.d_out.load(item.row(d_o, t));
  constexpr int together = QueryBack<T, D>::together;
  int s = op.begin(t, vertex);
  for (; s + together - 1 <= t; s += together) back.template look<true>(item, s, t, dropout);
  if (together > 1 && s <= t) back.template look<false>(item, s, t, dropout);
  const T norm = T{1} / back.sum, mean = back.mean * norm;
  back.weighted_keys.add(-mean, back.key_sum.of);
  back.weighted_keys.put(op.scale * norm, item.row(dqueries, t));
  item.stats[t] = {{back.largest + std::log2(back.sum), mean}};
}

/// The gradients of a key and a value. In packed sequences the queries that look at it follow it, up to where the next
/// sequence begins.
template <class Tiles, class T, int D>
__device__ void key_back(const Tiles& op, const Item<T, D>& item, int s, std::int64_t vertex, int head) {
  HeadColumns<T, D> key, value, dkey, dvalue;
  key.load(item.row(keys, s));
  key.scale_by(op.scale_of_two());
  value.load(item.row(values, s));
  dkey.clear();
  dvalue.clear();
  const auto look = [&](int t) {
    const QueryStats<T> stats = item.stats[t];
    T weight = power_of_two(key.dot(item.row(queries, t)) - stats.at[0]), gradient = value.dot(item.row(d_o, t)),
      kept = op.kept(t, vertex, s, head);
    dkey.add(weight * (kept * gradient - stats.at[1]), item.row(queries, t));
    dvalue.add(weight * kept, item.row(d_o, t));
  };
  if constexpr (Tiles::packed) {
    for (int t = s; t < op.total && op.begin(t, vertex) <= s; ++t) {
      if (op.wanted(t, vertex)) look(t);
    }
  } else {
#pragma unroll(D <= 8 ? 2 : 1)
    for (int t = op.total - 1; t >= max(s, op.first); --t) look(t);
  }
  dkey.put(op.scale, item.row(keys, s));
  dvalue.put(T{1}, item.row(values, s));
}

template <int W, int D, class T>
__device__ void bring_all(const TimelineTiles<T>& op, const TimelineTile& tile, Vector<T>* shared) {
  bring_steps<W, D>(op, tile, 3, 0, op.projected, op.offsets, arrays, queries, shared);
  bring_steps<W, D>(op, tile, 1, op.first, op.d_o, static_cast<const T*>(nullptr), arrays, d_o, shared);
}

template <class Tiles, int D>
__global__ void __launch_bounds__(most_threads) backward(Tiles op) {
  using T = typename Tiles::Element;
  Vector<T>* const shared = dynamic_shared<Vector<T>>();
  const TimelineTile tile(op, blockIdx.x);
  clear_padding<D>(op, tile.items(), arrays, shared);
  if (op.by_vectors) {
    bring_all<vector_values<T>, D>(op, tile, shared);
  } else {
    bring_all<1, D>(op, tile, shared);
  }
  __syncthreads();
  over_steps(op, tile, 0, [&](int i, int t) {
    const std::int64_t vertex = tile.vertex_of(i);
    query_back(op, Item<T, D>(op, tile, shared, i), t, vertex, op.factors(t, vertex, tile.head_of(i)));
  });
  __syncthreads();
  over_steps(op, tile, 0, [&](int i, int s) {
    key_back(op, Item<T, D>(op, tile, shared, i), s, tile.vertex_of(i), tile.head_of(i));
  });
  __syncthreads();
  const auto gradients = [](int part) { return part == 0 ? static_cast<int>(dqueries) : part; };
  if (op.by_vectors) {
    take_steps<vector_values<T>, D>(op, tile, 3, 0, op.dprojected, arrays, gradients, shared);
  } else {
    take_steps<1, D>(op, tile, 3, 0, op.dprojected, arrays, gradients, shared);
  }
}

constexpr int sum_threads = 256;

/// parts [ranges, total, columns]: sums over a range of vertices; a block has one step and range. A thread stays with
/// one column of every so-manieth vertex.
template <class T>
__global__ void __launch_bounds__(sum_threads)
    sum_vertices(const T* rows, RowParts vertices, std::int64_t total, int columns, double* parts) {
  STROBE_SHARED(double[sum_threads], sums);
  const std::int64_t range = blockIdx.x / total, step = blockIdx.x % total;
  const T* const of_step = rows + step * vertices.rows * columns;
  const int abreast = columns < sum_threads ? sum_threads / columns : 1, own = static_cast<int>(threadIdx.x);
  for (int begin = 0; begin < columns; begin += sum_threads) {
    const int width = min(columns - begin, sum_threads), column = begin + own % width;
    double sum = 0;
    if (own < width * abreast) {
#pragma unroll 8  // loads in flight
      for (std::int64_t v = vertices.begin(range) + own / width; v < vertices.end(range); v += abreast) {
        sum += static_cast<double>(of_step[v * columns + column]);
      }
    }
    sums[own] = sum;
    __syncthreads();
    for (int a = 1; a < abreast && own < width; ++a) sum += sums[a * width + own];
    if (own < width) parts[(range * total + step) * columns + column] = sum;
    __syncthreads();
  }
}

/// Ranges of whole 64 vertices, enough to fill a GPU with a block for each step of each.
RowParts vertex_ranges(std::int64_t n, std::int64_t total) {
  constexpr std::int64_t enough_blocks = 2048, unit = 64;
  const std::int64_t grain = std::max<std::int64_t>(1, divide_up(n, divide_up(enough_blocks, total) * unit)) * unit;
  return {n, grain, divide_up(n, grain)};
}

template <class T, int D>
TimelineShape shape_of(const TemporalAttentionBackward& op) {
  const std::int64_t total = op.first + op.steps, n = op.steps == 0 ? 0 : op.d_o.rows() / op.steps;
  if (total > 4096) return {};
  const std::size_t steps = total;
  const std::size_t array = HeadRows<T, D>::array(static_cast<int>(total));
  return timeline_shape(arrays * array * sizeof(Vector<T>) + steps * sizeof(QueryStats<T>), op.heads, n);
}

template <class T>
bool supports_as(const TemporalAttentionBackward& op) {
  return with_padded_depth<T>(op.projected.columns() / 3 / op.heads,
                              [&](auto depth) { return shape_of<T, depth>(op).group > 0; });
}

bool supports(const TemporalAttentionBackward& op) {
  return op.d_o.type() == ElementType::f64 ? supports_as<double>(op) : supports_as<float>(op);
}

template <class T>
void run_as(const TemporalAttentionBackward& op, const KernelContext& context) {
  const std::int64_t n = op.steps == 0 ? 0 : op.d_o.rows() / op.steps, total = op.first + op.steps;
  const std::int64_t columns = op.projected.columns(), sums = total * columns;
  if (sums == 0) return;
  with_padded_depth<T>(columns / 3 / op.heads, [&](auto depth) {
    const TimelineShape shape = shape_of<T, depth>(op);
    TimelineTiles<T> tiles = timeline_tiles<T>(op, shape, n);
    tiles.d_o = op.d_o.data<T>();
    tiles.dprojected = op.dprojected.data<T>();
    tiles.by_vectors = heads_are_vectors<T>(tiles.depth, tiles.projected, tiles.offsets, tiles.d_o, tiles.dprojected);
    with_packing(tiles, op, [&](const auto& all) {
      launch(context, tiles.tiles(), timeline_threads(shape, total), shape.bytes,
             backward<std::remove_cvref_t<decltype(all)>, depth>, all);
    });
    return true;
  });
  if (!without_sequences(op)) return;
  const RowParts ranges = vertex_ranges(n, total);
  double* const parts = part_sums_memory(context, ranges.count, sums);
  launch(context, ranges.count * total, sum_threads, 0, sum_vertices<T>, static_cast<const T*>(op.dprojected.data<T>()),
         ranges, total, static_cast<int>(columns), parts);
  add_parts(context, parts, ranges.count, sums,
            SumTargets<T>{{op.doffsets.data<T>(), nullptr, nullptr}, {sums, sums, sums}, false});
}

void run(const TemporalAttentionBackward& op, KernelContext& context) {
  with_element(op.d_o.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

const RegisterKernel<TemporalAttentionBackward> tiles{"cuda", {"tiles", 2, supports, run}};

}  // namespace temporal_attention_backward_tiles_kernels
}  // namespace strobe::cuda
