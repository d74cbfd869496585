// Shared by the tiled attention over the past: a block has a tile of vertices, or a group of one vertex's heads, with
// all steps in shared memory. An item is a vertex and head; its arrays (queries, keys, values, ...) have a row a step,
// in vectors of 16 bytes, zero after the head's columns. A thread has one step of an item: neighbouring lanes look at
// the same other step at the same time, which shared memory answers at once. Rows of 32 bytes and more, and arrays, lie
// a vector further apart than they are long, so that lanes with rows of their own meet in few banks.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"
#include "backends/cuda/kernels/pack.hpp"
#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

template <class T>
inline constexpr int vector_values = static_cast<int>(16 / sizeof(T));
template <class T>
using Vector = Pack<T, vector_values<T>>;

/// Rows of heads of up to D columns, in vectors.
template <class T, int D>
struct HeadRows {
  static constexpr int vectors = D / vector_values<T>;
  static constexpr int stride = vectors + (vectors > 1);

  __host__ __device__ static int array(int steps) { return steps * stride + 1; }
};

/// D columns of a head in registers.
template <class T, int D>
struct HeadColumns {
  static constexpr int vectors = HeadRows<T, D>::vectors;
  Vector<T> of[vectors];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < vectors; ++i) of[i] = Vector<T>{};
  }
  __device__ void load(const Vector<T>* from) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) of[i] = from[i];
  }
  __device__ void put(T factor, Vector<T>* to) {
    scale_by(factor);
#pragma unroll
    for (int i = 0; i < vectors; ++i) to[i] = of[i];
  }
  __device__ void scale_by(T factor) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      for (T& value : of[i].at) value *= factor;
    }
  }
  /// In two sums side by side where there are more than two vectors.
  __device__ T dot(const Vector<T>* with) const {
    T sums[2]{};
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const Vector<T> other = with[i];
      for (int v = 0; v < vector_values<T>; ++v) sums[vectors > 2 ? i % 2 : 0] += of[i].at[v] * other.at[v];
    }
    return vectors > 2 ? sums[0] + sums[1] : sums[0];
  }
  __device__ void add(T factor, const Vector<T>* other) {
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const Vector<T> from = other[i];
      for (int v = 0; v < vector_values<T>; ++v) of[i].at[v] += factor * from.at[v];
    }
  }
};

/// Device arrays and sizes; in global memory part 0 is the query, 1 the key, 2 the value. Tiles of `vertices` vertices
/// with all heads, or of one vertex with `group` heads.
template <class T>
struct TimelineTiles {
  using Element = T;
  static constexpr bool packed = false;
  const T *projected, *offsets, *d_o;
  T *o, *dprojected;
  std::int64_t n;
  int first, total, heads, depth, vertices, group;
  T scale;
  DropoutFactors dropout;
  bool by_vectors;  // global rows of a head are whole vectors

  __host__ __device__ std::int64_t width() const { return std::int64_t{heads} * depth; }
  __host__ __device__ int groups() const { return (heads + group - 1) / group; }
  std::int64_t tiles() const { return divide_up(n, vertices) * groups(); }
  /// Scores are taken to the base of 2.
  __device__ T scale_of_two() const { return scale * static_cast<T>(log2_e); }
  /// The first step that a query looks at, whether it looks, and dropout's factors of what it looks at.
  __device__ int begin(int, std::int64_t) const { return 0; }
  __device__ bool wanted(int t, std::int64_t) const { return t >= first; }
  __device__ PastFactors factors(int t, std::int64_t v, int head) const { return {dropout, v, t, head}; }
  __device__ T kept(int t, std::int64_t v, int s, int head) const {
    return dropout.drops ? static_cast<T>(dropout.of_past(v, t, s, head)) : T{1};
  }
};

/// Tiles of lanes of packed sequences, without offsets: a type of its own, so that kernels of timelines hold nothing of
/// it.
template <class T>
struct PackedTiles : TimelineTiles<T> {
  static constexpr bool packed = true;
  const std::int32_t* sequences;  // [S n, 3]: of TemporalAttention

  __device__ const std::int32_t* row(int t, std::int64_t v) const { return sequences + 3 * (t * this->n + v); }
  __device__ int begin(int t, std::int64_t v) const { return row(t, v)[0]; }
  __device__ bool wanted(int t, std::int64_t v) const { return row(t, v)[2] != 0; }
  __device__ T kept(int t, std::int64_t v, int s, int head) const {
    if (!this->dropout.drops) return T{1};
    const std::int64_t step = row(t, v)[1];  // in the graph
    return static_cast<T>(this->dropout.of_past(t * this->n + v, step, step - (t - s), head));
  }
  /// PastFactors of a query whose steps of the graph begin anywhere.
  struct Factors {
    const PackedTiles& op;
    int t, head;
    std::int64_t v;

    template <int count>
    __device__ void apply(int s, T (&values)[count]) const {
      if (!op.dropout.drops) return;
#pragma unroll
      for (int j = 0; j < count; ++j) values[j] *= s + j <= t ? op.kept(t, v, s + j, head) : T{0};
    }
  };
  __device__ Factors factors(int t, std::int64_t v, int head) const { return {*this, t, head, v}; }
};

/// Calls body(tiles) with `tiles`, or with those of packed sequences.
template <class T, class Op, class Body>
void with_packing(const TimelineTiles<T>& tiles, const Op& op, const Body& body) {
  if (without_sequences(op)) return body(tiles);
  body(PackedTiles<T>{tiles, op.sequences.template data<std::int32_t>()});
}

/// The work that a block has at a time.
struct TimelineTile {
  std::int64_t vertex;
  int head, vertices, heads;

  template <class T>
  __device__ TimelineTile(const TimelineTiles<T>& op, std::int64_t tile)
      : vertex(tile / op.groups() * op.vertices), head(static_cast<int>(tile % op.groups()) * op.group) {
    vertices = static_cast<int>(min(static_cast<std::int64_t>(op.vertices), op.n - vertex));
    heads = min(op.group, op.heads - head);
  }
  __device__ int items() const { return vertices * heads; }
  __device__ std::int64_t vertex_of(int item) const { return vertex + item / heads; }
  __device__ int head_of(int item) const { return head + item % heads; }
};

/// A thread's share of the tile's elements of `parts` parts: the same W columns at steps `step`, `step` + `abreast`,
/// ...
struct ElementWalk {
  int step, abreast, part, item, column;
  std::int64_t in_row, in_step;  // where it is in a vertex's row and in a step's rows of global memory
};

/// Calls body(walk) for each of the calling thread's walks; neighbouring threads have neighbouring columns.
template <int W, class T, class Body>
__device__ void over_elements(const TimelineTiles<T>& op, const TimelineTile& tile, int parts, int begin,
                              const Body& body) {
  const int columns = tile.heads * op.depth / W, row = tile.vertices * parts * columns;
  const int threads = static_cast<int>(blockDim.x), abreast = row < threads ? threads / row : 1;
  for (int i = static_cast<int>(threadIdx.x); i < row * abreast; i += threads) {
    const int e = i % row, column = e % columns * W, part = e / columns % parts, v = e / columns / parts;
    const std::int64_t in_row = part * op.width() + tile.head * op.depth + column;
    body(ElementWalk{begin + i / row, abreast, part, v * tile.heads + column / op.depth, column % op.depth, in_row,
                     (tile.vertex + v) * parts * op.width() + in_row});
  }
}

/// Brings rows of the steps from `begin` on into arrays `array`, ... of `arrays` arrays an item, `shift` [steps, row]
/// added where it is not null. Several loads are in flight before the first is stored.
template <int W, int D, class T>
__device__ void bring_steps(const TimelineTiles<T>& op, const TimelineTile& tile, int parts, int begin, const T* rows,
                            const T* shift, int arrays, int array, Vector<T>* shared) {
  using Element = Pack<T, W>;
  constexpr int batch = W == 1 ? 8 : 4, stride = HeadRows<T, D>::stride * vector_values<T>;
  const std::int64_t row = parts * op.width(), apart = op.n * row;
  over_elements<W>(op, tile, parts, begin, [&](const ElementWalk& walk) {
    const T* const from = rows + walk.in_step - begin * apart;
    T* const to =
        &shared[(walk.item * arrays + array + walk.part) * HeadRows<T, D>::array(op.total)].at[0] + walk.column;
    for (int step = walk.step; step < op.total; step += batch * walk.abreast) {
      Element values[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int s = step + b * walk.abreast;
        if (s >= op.total) continue;
        values[b] = *reinterpret_cast<const Element*>(from + s * apart);
        if (shift == nullptr) continue;
        const Element add = *reinterpret_cast<const Element*>(shift + s * row + walk.in_row);
        for (int w = 0; w < W; ++w) values[b].at[w] += add.at[w];
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int s = step + b * walk.abreast;
        if (s < op.total) *reinterpret_cast<Element*>(to + s * stride) = values[b];
      }
    }
  });
}

/// Takes rows of the steps from `begin` on to global memory; array_of(part) is where a part's are.
template <int W, int D, class T, class ArrayOf>
__device__ void take_steps(const TimelineTiles<T>& op, const TimelineTile& tile, int parts, int begin, T* rows,
                           int arrays, const ArrayOf& array_of, const Vector<T>* shared) {
  using Element = Pack<T, W>;
  constexpr int stride = HeadRows<T, D>::stride * vector_values<T>;
  const std::int64_t apart = op.n * parts * op.width();
  over_elements<W>(op, tile, parts, begin, [&](const ElementWalk& walk) {
    T* const to = rows + walk.in_step - begin * apart;
    const T* const from =
        &shared[(walk.item * arrays + array_of(walk.part)) * HeadRows<T, D>::array(op.total)].at[0] + walk.column;
    for (int step = walk.step; step < op.total; step += walk.abreast) {
      *reinterpret_cast<Element*>(to + step * apart) = *reinterpret_cast<const Element*>(from + step * stride);
    }
  });
}

/// Zeros in the arrays of `items` items where heads have fewer than D columns; the block meets after that.
template <int D, class T>
__device__ void clear_padding(const TimelineTiles<T>& op, int items, int arrays, Vector<T>* shared) {
  if (op.depth == D) return;
  const int vectors = items * arrays * HeadRows<T, D>::array(op.total);
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += static_cast<int>(blockDim.x)) shared[i] = Vector<T>{};
  __syncthreads();
}

/// Calls body(item, step) for the tile's items and the steps [begin, total), each for one thread. Every second round
/// goes backwards, so that a warp's share of early steps and of late ones, which see more, is the same.
template <class T, class Body>
__device__ void over_steps(const TimelineTiles<T>& op, const TimelineTile& tile, int begin, const Body& body) {
  const int steps = op.total - begin, units = tile.items() * steps, threads = static_cast<int>(blockDim.x);
  const int forwards = static_cast<int>(threadIdx.x), backwards = threads - 1 - forwards;
  for (int done = 0, round = 0; done < units; done += threads, ++round) {
    const int i = done + (round % 2 == 0 ? forwards : backwards);
    if (i < units) body(i / steps, begin + i % steps);
  }
}

/// Tiles for items of `item_bytes` bytes of shared memory; group is 0 where one does not fit. Several tiles share a
/// multiprocessor, and there are enough of them to fill a GPU.
struct TimelineShape {
  int vertices = 1, group = 0;
  std::size_t bytes = 0;
};
inline TimelineShape timeline_shape(std::size_t item_bytes, std::int64_t heads, std::int64_t n) {
  constexpr std::size_t most = 48 * 1024, wanted = 32 * 1024;
  constexpr std::int64_t enough_tiles = 256;
  TimelineShape shape;
  if (item_bytes > most) return shape;
  const std::int64_t fit = std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted / item_bytes));
  shape.group = static_cast<int>(divide_up(heads, divide_up(heads, fit)));
  while (2 * shape.vertices * heads <= fit && 2 * shape.vertices * enough_tiles <= n) shape.vertices *= 2;
  shape.bytes = static_cast<std::size_t>(shape.vertices * shape.group) * item_bytes;
  return shape;
}

/// Threads for a tile whose items have `steps` steps each to look from, in two rounds where a warp has but a part of
/// an item's steps.
inline int timeline_threads(const TimelineShape& shape, std::int64_t steps) {
  const std::int64_t units = shape.vertices * shape.group * steps, rounds = steps > warp_lanes ? 2 : 1;
  return static_cast<int>(std::min<std::int64_t>(256, divide_up(divide_up(units, rounds), warp_lanes) * warp_lanes));
}

/// Calls body(integral_constant<D>) for the padded depth of heads of `depth` columns; false where there is none. In
/// double, 32 columns of four arrays are too many for a thread's registers.
template <class T, class Body>
bool with_padded_depth(std::int64_t depth, const Body& body) {
  if (depth <= 4) return body(std::integral_constant<int, 4>{});
  if (depth <= 8) return body(std::integral_constant<int, 8>{});
  if (depth <= 16) return body(std::integral_constant<int, 16>{});
  if constexpr (sizeof(T) == 4) {
    if (depth <= 32) return body(std::integral_constant<int, 32>{});
  }
  return false;
}

template <class T, class Op>
TimelineTiles<T> timeline_tiles(const Op& op, const TimelineShape& shape, std::int64_t n) {
  TimelineTiles<T> tiles{};
  tiles.projected = op.projected.template data<T>();
  tiles.offsets = op.offsets.template data<T>();
  tiles.n = n;
  tiles.first = static_cast<int>(op.first);
  tiles.total = static_cast<int>(op.first + op.steps);
  tiles.heads = static_cast<int>(op.heads);
  tiles.depth = static_cast<int>(op.projected.columns() / 3 / op.heads);
  tiles.vertices = shape.vertices;
  tiles.group = shape.group;
  tiles.scale = static_cast<T>(op.scale);
  tiles.dropout = factors_of(op.dropout);
  return tiles;
}

/// Whether heads of `depth` columns begin at multiples of 16 bytes, and end there, in all of these arrays.
template <class T, class... Arrays>
bool heads_are_vectors(int depth, const Arrays*... arrays) {
  return depth % vector_values<T> == 0 && (is_multiple(arrays, 16) && ...);
}

}  // namespace strobe::cuda
