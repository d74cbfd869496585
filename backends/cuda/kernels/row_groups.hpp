// Sparse rows for dense matrices of up to 32 vectors of columns: a row of the result belongs to a few lanes of a warp,
// so a warp works on several rows. A lane holds one vector of columns (up to 16 bytes) of every `strides`-th entry of
// its row; the lanes' sums meet in a tree of fixed shape. Rows longer than `long_row` are taken by the whole warp.
// Invariant: which lane adds which entries depends on the row's length and on the launch's shape only.
// Bytes: indices and values once, of which lanes of one row read the same address; per entry one row of the input in
// vectors, from the second level cache where a snapshot's rows fit it.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/compressed.hpp"
#include "backends/cuda/kernels/pack.hpp"

namespace strobe::cuda {

inline constexpr int widest_group = warp_lanes;
inline constexpr std::int64_t long_row = 128;

/// How a warp's lanes divide: `chunk_lanes` lanes beside each other hold one row's `chunks` vectors, `strides` such
/// groups of lanes share a row. All but `chunks` are powers of two.
struct RowGroups {
  int chunks, chunk_lanes, strides;

  __device__ int row_lanes() const { return chunk_lanes * strides; }
  __device__ int rows_per_warp() const { return warp_lanes / row_lanes(); }
  __device__ int chunk() const { return lane() % chunk_lanes; }
  __device__ int group() const { return lane() / row_lanes(); }
};

/// For `chunks` vectors a row and a matrix of `rows` rows with `entries` entries: more lanes share a row where rows are
/// long enough to give each of them work.
inline RowGroups row_groups(int chunks, std::int64_t rows, std::int64_t entries) {
  RowGroups groups{chunks, 1, 1};
  while (groups.chunk_lanes < chunks) groups.chunk_lanes *= 2;
  constexpr int most_lanes = 8;
  while (groups.chunk_lanes * groups.strides < most_lanes && entries >= 4 * groups.strides * rows) groups.strides *= 2;
  return groups;
}

template <class T, int V>
__device__ void add_entries(const Compressed<T>& a, const Pack<T, V>* x, int chunks, int chunk, std::int64_t begin,
                            std::int64_t end, int stride, Pack<T, V>& sum) {
#pragma unroll 4
  for (std::int64_t k = begin; k < end; k += stride) {
    const T value = a.values[k];
    const Pack<T, V> in = x[static_cast<std::int64_t>(a.indices[k]) * chunks + chunk];
    for (int v = 0; v < V; ++v) sum.at[v] += value * in.at[v];
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
      add_entries(a, x, groups.chunks, groups.chunk(), begin + lane() / groups.chunk_lanes, end,
                  warp_lanes / groups.chunk_lanes, whole);
    }
    add_lanes(whole, groups.chunk_lanes, warp_lanes);
    if (group == groups.group()) sum = whole;
  }
}

/// The sum over the entries of row `first_row` + the lane's group of a_rc x_c, vector `chunk` of it; zero behind the
/// last row. Every lane of the warp calls it with the same `first_row`.
template <class T, int V>
__device__ Pack<T, V> gather_row(const Compressed<T>& a, const Pack<T, V>* x, const RowGroups& groups,
                                 std::int64_t first_row) {
  const int chunk = groups.chunk(), row_lanes = groups.row_lanes();
  const std::int64_t row = first_row + groups.group();
  const std::int64_t begin = row < a.rows ? a.offsets[row] : 0, end = row < a.rows ? a.offsets[row + 1] : 0;
  const bool is_long = end - begin > long_row;
  Pack<T, V> sum{};
  if (chunk < groups.chunks && !is_long) {
    const int stride = lane() % row_lanes / groups.chunk_lanes;
    add_entries(a, x, groups.chunks, chunk, begin + stride, end, groups.strides, sum);
  }
  add_lanes(sum, groups.chunk_lanes, row_lanes);
  // All lanes read the same two offsets: rows that are short together are short each.
  const std::int64_t last_row = min(a.rows, first_row + groups.rows_per_warp());
  if (a.offsets[last_row] - a.offsets[first_row] > long_row) gather_long_rows(a, x, groups, first_row, sum);
  return sum;
}

}  // namespace strobe::cuda
