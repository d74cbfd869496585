// Shared by the kernels of the sparse product of a dense layer's output. A row belongs to a few lanes of a warp. Each
// takes every `row_lanes`-th of its entries and computes C columns of the layer there from weights in registers; rows
// longer than `long_row` are taken by the whole warp. Adjacent warps of a block take further columns of the same rows,
// so the entries come from the first level cache after the first of them. Rows are divided
// into parts; where there are many, a multiprocessor's blocks take adjacent parts.
// Bytes per entry: index, value and F values of x, whose rows of one step or two stay in the first level cache. An
// entry costs about 14 instructions in addition to those of its columns, and lanes wait for the longest row of their
// warp.
#pragma once

#include <algorithm>

#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/cuda/kernels/pack.hpp"
#include "backends/cuda/kernels/sparse/row_groups.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {

/// The operation's arrays; with one weight for all steps, `steps` is one step of all rows whose list is null.
template <class T>
struct OfDense {
  Compressed<T> a;
  const T *x, *w, *bias;  // bias may be null
  int inner, width;
  bool relu, packed;  // packed: rows of x are read as vectors
  StepParts steps;
};

/// How the warps of blocks divide columns, in tiles, and rows: a block has `tile_warps` tiles of `row_warps` times
/// 32 / row_lanes rows at once, and `groups` such blocks have all tiles.
struct WarpTeams {
  int tiles, groups, tile_warps, row_warps, row_lanes;

  __device__ int tile() const { return static_cast<int>(blockIdx.x % groups) * tile_warps + warp() % tile_warps; }
  __device__ int row_warp() const { return warp() / tile_warps; }
  __host__ __device__ int warp_rows() const { return warp_lanes / row_lanes; }
  __host__ __device__ int block_rows() const { return warp_rows() * row_warps; }
  int threads() const { return tile_warps * row_warps * warp_lanes; }
};

/// For tiles of `columns` columns: the fewer entries a row has, the fewer lanes share it.
inline WarpTeams warp_teams(std::int64_t width, int columns, std::int64_t rows, std::int64_t entries) {
  constexpr int most_warps = 8, most_lanes = 8, entries_per_lane = 12;
  WarpTeams teams{};
  teams.tiles = static_cast<int>(divide_up(width, columns));
  teams.groups = static_cast<int>(divide_up(teams.tiles, most_warps));
  teams.tile_warps = static_cast<int>(divide_up(teams.tiles, teams.groups));
  teams.row_warps = most_warps / teams.tile_warps;
  teams.row_lanes = 1;
  while (teams.row_lanes < most_lanes && entries >= entries_per_lane * teams.row_lanes * rows) teams.row_lanes *= 2;
  return teams;
}

/// Parts of the operation's rows of four rounds of a block or more, for at most `most_blocks` blocks or one a step, and
/// at most 32 MiB of `stride` doubles for every part.
template <class Op>
StepParts parts_of(const Op& op, const WarpTeams& teams, std::int64_t most_blocks, std::int64_t stride) {
  constexpr std::int64_t rounds = 4, most_sums = std::int64_t{1} << 22;
  const bool by_step = op.step_rows.defined();
  const std::int64_t steps = by_step ? op.step_rows.rows() - 1 : 1;
  if (steps <= 0) return {op.step_rows.template data<std::int64_t>(), 0, 1};
  const std::int64_t wanted = divide_up(divide_up(op.a.rows, steps), rounds * teams.block_rows());
  const std::int64_t most = std::min(most_blocks / teams.groups, most_sums / std::max<std::int64_t>(1, stride)) / steps;
  const std::int64_t parts = std::max<std::int64_t>(1, std::min(wanted, most));
  return {by_step ? op.step_rows.template data<std::int64_t>() : nullptr, steps, parts};
}

template <class T, int F, class Op>
OfDense<T> of_dense(const Op& op, const StepParts& steps) {
  constexpr std::size_t vector = std::min<std::size_t>(16, F * sizeof(T));
  const bool packed = op.x.columns() == F && is_multiple(op.x.raw(), vector);
  return {compressed<T>(op.a),
          op.x.template data<T>(),
          op.w.template data<T>(),
          op.bias.template data<T>(),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w.columns()),
          op.activation == Activation::relu,
          packed,
          steps};
}

struct RowRange {
  std::int64_t begin, end;
};

template <class T>
__device__ RowRange rows_of_part(const OfDense<T>& op, std::int64_t part) {
  const StepParts& steps = op.steps;
  const std::int64_t step = part / steps.parts, which = part % steps.parts;
  if (steps.step_rows != nullptr) return {steps.begin(step, which), steps.end(step, which)};
  return {op.a.rows * which / steps.parts, op.a.rows * (which + 1) / steps.parts};
}

/// Calls body(part) for the block's parts: neighbouring blocks have neighbouring parts, so that all multiprocessors
/// gather from the same few steps at a time. (A range of steps for each of them took 1.75 times as long on an H100.)
template <class T, class Body>
__device__ void for_parts(const OfDense<T>& op, const WarpTeams& teams, const Body& body) {
  const std::int64_t parts = op.steps.steps * op.steps.parts;
  const std::int64_t blocks = gridDim.x / teams.groups;
  for (std::int64_t part = blockIdx.x / teams.groups; part < parts; part += blocks) body(part);
}

/// Columns [first, first + C) of one step's layer in registers; zeros after the last feature and column.
template <class T, int F, int C>
struct LayerColumns {
  T w[F][C], bias[C];

  __device__ LayerColumns(const OfDense<T>& op, std::int64_t step, int first) {
    const T* const from = op.w + step * op.inner * op.width + first;
#pragma unroll
    for (int g = 0; g < C; ++g) {
      const bool there = first + g < op.width;
      bias[g] = there && op.bias != nullptr ? op.bias[first + g] : T{0};
#pragma unroll
      for (int f = 0; f < F; ++f) w[f][g] = there && f < op.inner ? from[f * op.width + g] : T{0};
    }
  }
  __device__ T value(const T (&x)[F], int g) const {
    T z = bias[g];
#pragma unroll
    for (int f = 0; f < F; ++f) z += x[f] * w[f][g];
    return z;
  }
};

template <int F, class T>
__device__ void load_features(const OfDense<T>& op, std::int32_t column, T (&x)[F]) {
  constexpr int V = F < static_cast<int>(16 / sizeof(T)) ? F : static_cast<int>(16 / sizeof(T));
  if (op.packed) {
    const auto* const from = reinterpret_cast<const Pack<T, V>*>(op.x) + static_cast<std::int64_t>(column) * (F / V);
#pragma unroll
    for (int p = 0; p < F / V; ++p) {
      const Pack<T, V> in = from[p];
#pragma unroll
      for (int v = 0; v < V; ++v) x[p * V + v] = in.at[v];
    }
    return;
  }
  const T* const from = op.x + static_cast<std::int64_t>(column) * op.inner;
#pragma unroll
  for (int f = 0; f < F; ++f) x[f] = f < op.inner ? from[f] : T{0};
}

/// A lane's share of a row: entries begin, begin + stride, ... before `end`.
struct RowShare {
  std::int64_t row, begin, end;
  int stride;
};

/// Calls body(value, x of the column) for a share's entries in order. Loads of a few entries are on their way at once.
template <int F, class T, class Body>
__device__ void for_entries(const OfDense<T>& op, const RowShare& share, const Body& body) {
  constexpr unsigned batch = 4;
  if (share.begin >= share.end) return;
  const std::int32_t* const indices = op.a.indices + share.begin;
  const T* const values = op.a.values + share.begin;
  const auto count = static_cast<unsigned>(share.end - share.begin), stride = static_cast<unsigned>(share.stride);
  for (unsigned k = 0; k < count; k += batch * stride) {
    std::int32_t columns[batch] = {};
    T in[batch] = {}, x[batch][F] = {};
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      const unsigned at = k + j * stride;
      if (at < count) columns[j] = indices[at], in[j] = values[at];
    }
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      if (k + j * stride < count) load_features(op, columns[j], x[j]);
    }
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      if (k + j * stride < count) body(in[j], x[j]);
    }
  }
}

/// Calls body(share, whole) for rows [first, first + the warp's rows) before `end`: first with the lanes' shares of
/// their own rows, whole being false, then with the whole warp's of each row longer than long_row. Every lane calls it.
template <class T, class Body>
__device__ void for_shares(const OfDense<T>& op, const WarpTeams& teams, std::int64_t first, std::int64_t end,
                           const Body& body) {
  const std::int64_t* const offsets = op.a.offsets;
  const std::int64_t last = min(end, first + teams.warp_rows()), own = first + lane() / teams.row_lanes;
  std::int64_t row = first - 1;  // of the whole warp's
  do {
    const bool whole = row >= first;
    const std::int64_t which = whole ? row : own, from = which < last ? offsets[which] : 0;
    const std::int64_t to = which < last ? offsets[which + 1] : 0;
    const int place = whole ? lane() : lane() % teams.row_lanes;
    const bool skipped = !whole && to - from > long_row;
    body(RowShare{which, from + place, skipped ? from : to, whole ? warp_lanes : teams.row_lanes}, whole);
    // All lanes read the same two offsets: rows that are short together are short each.
    if (!whole && offsets[last] - offsets[first] <= long_row) return;
    do ++row;
    while (row < last && offsets[row + 1] - offsets[row] <= long_row);
  } while (row < last);
}

}  // namespace strobe::cuda
