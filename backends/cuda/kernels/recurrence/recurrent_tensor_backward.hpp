// Shared by the backward passes of the recurrences on tensor cores: gradients of the inputs, and of the weights. For
// the latter the vertices are a product's inner terms, so that the warp's values pass through shared memory, a row for
// every vertex; the tiles of sums stay in registers, and once for all steps the block adds those of its warps in order
// to its part in double.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_tensor.hpp"

namespace strobe::cuda {

inline constexpr int tile_warps = 4, tile_threads = tile_warps * warp_lanes;

/// Values that are the same in every warp of a block, a `Part` for each lane, in registers or in shared memory. In
/// shared memory a lane's part is an odd number of vectors of 16 bytes, so lanes that read vectors of their parts meet
/// in no bank.
template <class Part, bool registers>
struct LaneParts {
  const Part part;

  template <class... Arguments>
  __device__ explicit LaneParts(std::byte*, const Arguments&... arguments) : part(arguments...) {}
  __device__ const Part& own() const { return part; }
  static constexpr std::size_t bytes = 0;
};
template <class Part>
struct LaneParts<Part, false> {
  static constexpr std::size_t stride = (sizeof(Part) / 16 | 1) * 16, bytes = warp_lanes * stride;
  static_assert(sizeof(Part) % 16 == 0);
  const Part* part;

  /// Every thread of the block comes here.
  template <class... Arguments>
  __device__ explicit LaneParts(std::byte* shared, const Arguments&... arguments) {
    auto* const to = reinterpret_cast<Part*>(shared + lane() * stride);
    if (warp() == 0) *to = Part(arguments...);
    __syncthreads();
    part = to;
  }
  __device__ const Part& own() const { return *part; }
};

/// Rows of a warp: the gradients of a unit's four gates side by side, for 8 units, and then `H` halves of a left
/// factor, 8 columns each.
template <int H>
struct TileRows {
  static constexpr int halves = H, factors = 8 * 4;
  // 8 or 24 above a multiple of 32: what the lanes read at once lies in banks of its own.
  static constexpr int row = (factors + halves * tile_inner) | 8, values = tile_vertices * row;
  static constexpr std::size_t bytes = tile_warps * values * sizeof(float);

  /// All 0 except the columns that are 1 on every row.
  __device__ static void clear(float* rows, int ones) {
    for (int i = lane(); i < values; i += warp_lanes) rows[i] = i % row == factors + ones ? 1.0f : 0.0f;
  }
};

/// Sums of the gradients of weights: two halves by 8 units for each of `gates` gates.
template <class Rows, int gates>
struct TileWeightSums {
  static constexpr int tiles = (Rows::halves + 1) / 2;
  TileSums sums[tiles][gates];

  __device__ void clear() {
    for (int e = 0; e < tiles * gates * 4; ++e) sums[e / (gates * 4)][e / 4 % gates].of[e % 4] = 0.0f;
  }
  /// Adds what is in the warp's rows. Gates of tile m from first(m) on have sums. A step's products are added up for
  /// themselves: tensor cores cut off what other units round.
  template <int shared_tiles>
  __device__ void add(const float* rows) {
    const int group = lane() / 4, part = lane() % 4;
    TileSums fresh[tiles][gates];
    for (int e = 0; e < tiles * gates * 4; ++e) fresh[e / (gates * 4)][e / 4 % gates].of[e % 4] = 0.0f;
#pragma unroll
    for (int v = 0; v < tile_vertices; v += tile_inner) {
      const float* const one = rows + (v + part) * Rows::row;
      const float* const other = one + 4 * Rows::row;
      const auto first = reinterpret_cast<const Gates<float>*>(one)[group],
                 second = reinterpret_cast<const Gates<float>*>(other)[group];
      Parts<2> right[gates];
#pragma unroll
      for (int g = 0; g < gates; ++g) right[g] = parts_of<2>({first.of[g], second.of[g]});
#pragma unroll
      for (int m = 0; m < tiles; ++m) {
        const int at = Rows::factors + 2 * m * tile_inner + group;
        const bool both = 2 * m + 1 < Rows::halves;
        const Parts<4> left =
            parts_of<4>({one[at], both ? one[at + tile_inner] : 0.0f, other[at], both ? other[at + tile_inner] : 0.0f});
        if (m < shared_tiles) {
          multiply_tiles(fresh[m], left, right);
        } else {
          multiply_some<gates - 1, gates>(fresh[m], left, right);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < tiles; ++m) {
#pragma unroll
      for (int g = 0; g < gates; ++g) {
        for (int i = 0; i < 4; ++i) sums[m][g].of[i] += fresh[m][g].of[i];
      }
    }
  }
  /// Adds the block's sums to its `part`, or stores them; place(half, k, u, g) is where, or negative. `area`: the rows
  /// of all warps, which nobody else uses until every thread of the block is back.
  template <class Place>
  __device__ void flush(float* area, double* part, bool store, const Place& place) const {
    constexpr int of_tile = 2 * tile_inner * tile_inner;
    static_assert(gates * of_tile <= Rows::values);
    const int group = lane() / 4, part_of = lane() % 4;
    float* const own = area + warp() * Rows::values;
#pragma unroll
    for (int m = 0; m < tiles; ++m) {
      __syncthreads();
#pragma unroll
      for (int e = 0; e < gates * 4; ++e) {
        const int i = e % 4, k = group + i / 2 * tile_inner, u = 2 * part_of + i % 2;
        own[e / 4 * of_tile + k * tile_inner + u] = sums[m][e / 4].of[i];
      }
      __syncthreads();
      for (int e = static_cast<int>(threadIdx.x); e < gates * of_tile; e += tile_threads) {
        const int k = e % of_tile / tile_inner;
        const int at = place(2 * m + k / tile_inner, k % tile_inner, e % tile_inner, e / of_tile);
        if (at < 0) continue;
        double sum = 0;
        for (int w = 0; w < tile_warps; ++w) sum += static_cast<double>(area[w * Rows::values + e]);
        part[at] = (store ? 0.0 : part[at]) + sum;
      }
    }
    __syncthreads();
  }
};

/// A lane's elements of the rows of x that it has as left factors (TileInputs) to the warp's rows, from column 0 of the
/// halves on.
template <class Sizes, class Rows>
__device__ void stage_inputs(const TileLane<Sizes>& own, const float (&x)[Sizes::tiles][4], float* rows) {
#pragma unroll
  for (int k = 0; k < Sizes::tiles; ++k) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float* const to = rows + (own.group + 8 * r) * Rows::row + Rows::factors + k * tile_inner + 2 * own.part;
      *reinterpret_cast<float2*>(to) = make_float2(x[k][r], x[k][2 + r]);
    }
  }
}

/// Stores or adds tiles whose columns are inputs: gradients of the elements that TileInputs reads.
template <class Sizes>
__device__ void put_inputs(const TileInputs<Sizes>& inputs, const TileSums (&sums)[Sizes::tiles], float* const (&to)[2],
                           bool add) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int k = 0; k < Sizes::tiles; ++k) {
      float* const at = to[r] + k * tile_inner;
      float2 both = make_float2(sums[k].of[2 * r], sums[k].of[2 * r + 1]);
      const bool(&there)[2] = inputs.there[r][k];
      if (add && there[0]) both.x += at[0];
      if (add && there[1]) both.y += at[1];
      if constexpr (Sizes::pairs) {
        if (there[0]) *reinterpret_cast<float2*>(at) = both;
      } else {
        if (there[0]) at[0] = both.x;
        if (there[1]) at[1] = both.y;
      }
    }
  }
}

}  // namespace strobe::cuda
