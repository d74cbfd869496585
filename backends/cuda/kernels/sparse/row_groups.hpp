// Sparse rows for dense matrices of up to 32 vectors of columns: a row of the result belongs to a few lanes of a warp,
// so a warp works on several rows. A lane holds one vector of columns (up to 16 bytes) of every `strides`-th entry of
// its row; the lanes' sums meet in a tree of fixed shape. The warp first copies its rows' entries, which lie one after
// the other, to shared memory: 32 of them a load, where lanes that read their own rows' entries would read the same
// address `chunk_lanes` times and touch a line each. Rows longer than `long_row` are taken by the whole warp.
// Invariant: which lane adds which entries depends on the row's length and on the launch's shape only.
// Bytes: indices and values once; per entry one row of the input in vectors, from the second level cache where a
// snapshot's rows fit it.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/pack.hpp"
#include "backends/cuda/kernels/sparse/compressed.hpp"

namespace strobe::cuda {

inline constexpr int widest_group = warp_lanes;
inline constexpr std::int64_t long_row = 128;

/// Whether the lanes of a warp hold a whole row of both.
inline bool fits_warp(const Tensor& x, const Tensor& y) {
  const std::int64_t width = y.columns();
  return width >= 1 && width <= warp_lanes * pack_length(x.raw(), y.raw(), width, element_bytes(y.type()));
}

/// How a warp's lanes divide: `chunk_lanes` adjacent lanes hold one row's `chunks` vectors, `strides` such
/// groups of lanes share a row. All but `chunks` are powers of two.
struct RowGroups {
  int chunks, chunk_lanes, strides;

  __device__ int row_lanes() const { return chunk_lanes * strides; }
  __device__ int rows_per_warp() const { return warp_lanes / row_lanes(); }
  __device__ int chunk() const { return lane() % chunk_lanes; }
  __device__ int group() const { return lane() / row_lanes(); }
};

/// For `chunks` vectors a row and a matrix of `rows` rows with `entries` entries: more lanes share a row where rows are
/// long enough to give each of them work and are too few to fill a GPU without.
inline RowGroups row_groups(int chunks, std::int64_t rows, std::int64_t entries) {
  RowGroups groups{chunks, 1, 1};
  while (groups.chunk_lanes < chunks) groups.chunk_lanes *= 2;
  constexpr int most_lanes = 8;
  constexpr std::int64_t enough_lanes = 1 << 20;
  while (groups.chunk_lanes * groups.strides < most_lanes && entries >= 4 * groups.strides * rows &&
         rows * groups.chunk_lanes * groups.strides < enough_lanes)
    groups.strides *= 2;
  return groups;
}

/// A warp's room for entries in shared memory, values first.
template <class T>
struct StagedEntries {
  T* values = nullptr;
  std::int32_t* indices = nullptr;
  int room = 0;

  /// `memory` holds `bytes` for each of the block's warps.
  __device__ StagedEntries(unsigned char* memory, int entries)
      : values(reinterpret_cast<T*>(memory + static_cast<std::size_t>(warp()) * bytes(entries))),
        indices(reinterpret_cast<std::int32_t*>(values + entries)),
        room(entries) {}

  /// Bytes of a warp; a multiple of 16.
  __host__ __device__ static constexpr std::size_t bytes(int entries) {
    return (static_cast<std::size_t>(entries) * (sizeof(T) + sizeof(std::int32_t)) + 15) / 16 * 16;
  }

  /// Copies `count` entries from `first` on; all lanes of the warp call it.
  __device__ void copy(const Compressed<T>& a, std::int64_t first, int count) const {
    constexpr int batch = 4;
    const std::int32_t* const from = a.indices + first;
    const T* const values_from = a.values + first;
    for (int k = lane(); k < count; k += batch * warp_lanes) {
      std::int32_t index[batch];
      T value[batch];
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        const bool there = k + j * warp_lanes < count;
        index[j] = there ? from[k + j * warp_lanes] : 0;
        value[j] = there ? values_from[k + j * warp_lanes] : T{0};
      }
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        if (k + j * warp_lanes >= count) continue;
        indices[k + j * warp_lanes] = index[j];
        values[k + j * warp_lanes] = value[j];
      }
    }
  }
};

/// Entries that a warp's rows together usually have, or half as many. None if that is too much for every warp, or if a
/// row has too many lanes to share many reads.
inline int staged_room(const RowGroups& groups, std::int64_t rows, std::int64_t entries) {
  constexpr std::int64_t most = 256;
  if (groups.chunk_lanes > 8) return 0;
  const std::int64_t mean = rows == 0 ? 0 : entries * (warp_lanes / (groups.chunk_lanes * groups.strides)) / rows;
  const std::int64_t room = (mean * 3 / 2 + warp_lanes) / warp_lanes * warp_lanes;
  return room > most ? 0 : static_cast<int>(room);
}

/// Adds the lane's share, every `stride`-th of entries [first, end), in batches whose loads are under way at once.
template <class T, int V>
__device__ void add_entries(const T* values, const std::int32_t* indices, const Pack<T, V>* x, int chunks, int chunk,
                            std::int64_t first, std::int64_t end, int stride, Pack<T, V>& sum) {
  constexpr int batch = 4;
  for (std::int64_t k = first; k < end; k += batch * stride) {
    T value[batch];
    Pack<T, V> in[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      const bool there = k + j * stride < end;
      value[j] = there ? values[k + j * stride] : T{0};
      in[j] = there ? x[static_cast<std::int64_t>(indices[k + j * stride]) * chunks + chunk] : Pack<T, V>{};
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      for (int v = 0; v < V; ++v) sum.at[v] += value[j] * in[j].at[v];
    }
  }
}

/// The values of the lane whose number differs by `bits`.
template <class T, int V>
__device__ Pack<T, V> lane_across(const Pack<T, V>& own, int bits) {
#if defined(__CUDACC__)
  Pack<T, V> other;
  for (int v = 0; v < V; ++v) other.at[v] = __shfl_xor_sync(0xffffffffu, own.at[v], bits);
  return other;
#else
  return __shfl_xor_sync(0xffffffffu, own, bits);  // one exchange: what costs time in the emulation
#endif
}

/// Adds up lanes `distance` apart, for distances from `nearest` up to below `farthest`; all of them get the sum.
template <class T, int V>
__device__ void add_lanes(Pack<T, V>& sum, int nearest, int farthest) {
  for (int distance = nearest; distance < farthest; distance *= 2) {
    const Pack<T, V> other = lane_across(sum, distance);
    for (int v = 0; v < V; ++v) sum.at[v] += other.at[v];
  }
}

/// Replaces the sums of those lanes whose row is long by the whole warp's sum over that row. Every lane calls it and
/// agrees.
template <class T, int V>
__device__ void gather_long_rows(const Compressed<T>& a, const Pack<T, V>* x, const RowGroups& groups,
                                 std::int64_t first_row, Pack<T, V>& sum) {
  for (int group = 0; group < groups.rows_per_warp(); ++group) {
    const std::int64_t row = first_row + group;
    const std::int64_t begin = row < a.rows ? a.offsets[row] : 0, end = row < a.rows ? a.offsets[row + 1] : 0;
    if (end - begin <= long_row) continue;
    Pack<T, V> whole{};
    if (groups.chunk() < groups.chunks) {
      add_entries(a.values, a.indices, x, groups.chunks, groups.chunk(), begin + lane() / groups.chunk_lanes, end,
                  warp_lanes / groups.chunk_lanes, whole);
    }
    add_lanes(whole, groups.chunk_lanes, warp_lanes);
    if (group == groups.group()) sum = whole;
  }
}

/// Where the entries of a warp's `rows` rows begin: lane i has it of row `first_row` + i, every lane has their end.
struct RowOffsets {
  std::int64_t own, last;
  int rows;

  template <class T>
  __device__ RowOffsets(const Compressed<T>& a, std::int64_t first_row, int warp_rows)
      : own(a.offsets[min(a.rows, first_row + lane())]),
        last(a.offsets[min(a.rows, first_row + warp_rows)]),
        rows(warp_rows) {}
  /// Every lane of the warp calls it, with a row of its own.
  __device__ std::int64_t of(int row) const {
    const std::int64_t found = __shfl_sync(0xffffffffu, own, row % warp_lanes);
    return row == rows ? last : found;
  }
};

/// The sum over the entries of row `first_row` + the lane's group of a_rc x_c, vector `chunk` of it; zero after
/// the last row. Every lane of the warp calls it with the same `first_row`, and with the warp's own `staged`.
template <class T, int V>
__device__ Pack<T, V> gather_row(const Compressed<T>& a, const Pack<T, V>* x, const RowGroups& groups,
                                 std::int64_t first_row, const StagedEntries<T>& staged) {
  const int row_lanes = groups.row_lanes(), stride = lane() % row_lanes / groups.chunk_lanes;
  const bool has_chunk = groups.chunk() < groups.chunks;
  const RowOffsets offsets(a, first_row, groups.rows_per_warp());
  const std::int64_t first = offsets.of(0), total = offsets.last - first;
  const std::int64_t begin = offsets.of(groups.group()), end = offsets.of(groups.group() + 1);
  Pack<T, V> sum{};
  if (total <= staged.room) {
    staged.copy(a, first, static_cast<int>(total));
    __syncwarp();
    if (has_chunk) {
      add_entries(staged.values, staged.indices, x, groups.chunks, groups.chunk(), begin - first + stride, end - first,
                  groups.strides, sum);
    }
    __syncwarp();
  } else if (has_chunk && end - begin <= long_row) {
    add_entries(a.values, a.indices, x, groups.chunks, groups.chunk(), begin + stride, end, groups.strides, sum);
  }
  add_lanes(sum, groups.chunk_lanes, row_lanes);
  // Rows that are staged are short together.
  if (total > staged.room && total > long_row) gather_long_rows(a, x, groups, first_row, sum);
  return sum;
}

}  // namespace strobe::cuda
