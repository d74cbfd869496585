// Shared by the recurrences of narrow states (up to 8 units) whose products run on tensor cores in fp32. A warp
// takes 16 vertices through all steps: the rows of a tile. The order of a product's inner terms is free, and so is
// that of its columns; both are such that every lane computes exactly those gates that its own units need, and that
// the states it gets are those it gives to the next product: nothing passes from lane to lane between steps. A lane has
// one of the first four units of two vertices, `group` and `group` + 8. It also has one of the remaining units of both
// vertices. If at most two remain, it shares a unit with the next lane, and each of the two lanes has one vertex. fp32
// values go into the products in two parts of 11 bits, high and low, and three of the four products of parts are added
// up; what is left out is below 2^-21 of a term. An infinite value has no parts: it gives NaN.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"

namespace strobe::cuda {

inline constexpr int tile_vertices = 16, tile_inner = 8;

/// K tiles of 8 inputs, and 8 units or 6. `pairs`: inputs are read two at a time. `ahead`: steps that are on their way.
template <int K, bool all_units, bool in_pairs, int steps_ahead>
struct TileSizes {
  static constexpr int tiles = K, inputs = K * tile_inner, hidden = all_units ? 8 : 6;
  static constexpr int states = all_units ? 4 : 3;  // of a lane
  static constexpr bool eight = all_units, pairs = in_pairs;
  static constexpr int ahead = steps_ahead;
};

/// Whether the GPU's tensor cores have several times the FLOPs of its other units also in parts of fp32, as those made
/// for computing have (A100, H100, B200); on others the kernels of lanes do less work.
inline bool has_tile_products() {
#if defined(__CUDACC__)
  static const bool has = [] {
    int device = 0, major = 0, minor = 0;
    const bool known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    return known && ((major == 8 && minor == 0) || major == 9 || major == 10);
  }();
  return has;
#else
  return true;
#endif
}

/// Values in two parts.
template <int N>
struct alignas(16) Parts {
  float high[N], low[N];
};
/// The high part is rounded; the low 13 bits of `low` are beyond what a product looks at.
template <int N>
__device__ Parts<N> parts_of(const float (&values)[N]) {
  Parts<N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &values[i], sizeof bits);
    bits = (bits + 0x1000u) & 0xffffe000u;
    std::memcpy(&result.high[i], &bits, sizeof bits);
    result.low[i] = values[i] - result.high[i];
  }
  return result;
}
__device__ inline Parts<2> parts_of(float first, float second) { return parts_of<2>({first, second}); }

/// A lane's elements of a tile [16, 8] of sums: columns 2 part and 2 part + 1 of row `group`, then of row group + 8. In
/// a left factor [16, 8] it has column `part` of both rows and then column part + 4; in a right one [8, 8] column
/// `group` of the rows `part` and part + 4.
struct alignas(16) TileSums {
  float of[4];
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ inline void add_product(TileSums& sums, const float (&left)[4], const float (&right)[2]) {
  const auto bits = [](float value) { return __float_as_uint(value); };
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums.of[0]), "+f"(sums.of[1]), "+f"(sums.of[2]), "+f"(sums.of[3])
      : "r"(bits(left[0])), "r"(bits(left[1])), "r"(bits(left[2])), "r"(bits(left[3])), "r"(bits(right[0])),
        "r"(bits(right[1])));
}
#endif

/// sums[j] += left right[j] for j = first, ... below `last`, for every lane of the warp at once.
template <int first, int last, int N>
__device__ void multiply_some(TileSums (&sums)[N], const Parts<4>& left, const Parts<2> (&right)[N]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#pragma unroll
  for (int j = first; j < last; ++j) add_product(sums[j], left.low, right[j].high);
#pragma unroll
  for (int j = first; j < last; ++j) add_product(sums[j], left.high, right[j].low);
#pragma unroll
  for (int j = first; j < last; ++j) add_product(sums[j], left.high, right[j].high);
#else
  constexpr unsigned all = 0xffffffffu;
  for (int k = 0; k < 4; ++k) {
    float row[4];
    for (int i = 0; i < 4; ++i) row[i] = __shfl_sync(all, left.high[i] + left.low[i], lane() / 4 * 4 + k);
    for (int j = first; j < last; ++j) {
      for (int c = 0; c < 2; ++c) {
        const int from = (lane() % 4 * 2 + c) * 4 + k;
        for (int i = 0; i < 2; ++i) {
          const float factor = __shfl_sync(all, right[j].high[i] + right[j].low[i], from);
          sums[j].of[c] += row[2 * i] * factor;
          sums[j].of[2 + c] += row[2 * i + 1] * factor;
        }
      }
    }
  }
#endif
}
template <int N>
__device__ void multiply_tiles(TileSums (&sums)[N], const Parts<4>& left, const Parts<2> (&right)[N]) {
  multiply_some<0, N>(sums, left, right);
}

/// A lane's place in its warp's tile, and its units: state i is unit(i) of the tile's vertex row(i).
template <class Sizes>
struct TileLane {
  int group = lane() / 4, part = lane() % 4;

  /// Unit of the states after the first two, for the lanes `of_part`.
  __device__ static int second_unit(int of_part) { return Sizes::eight ? 4 + of_part : 4 + of_part / 2; }
  __device__ int unit(int i) const { return i < 2 ? part : second_unit(part); }
  __device__ int row(int i) const {
    return i < 2 ? group + 8 * i : Sizes::eight ? group + 8 * (i - 2) : group + 8 * (part % 2);
  }
  /// Units that a product's inner terms `part` and part + 4 are, where its left factor is left(states).
  __device__ int inner_unit(int i) const { return i == 0 ? part : second_unit(part); }
  __device__ Parts<4> left(const float (&states)[Sizes::states]) const {
    if constexpr (Sizes::eight) {
      return parts_of(states);
    } else {
      const bool odd = part % 2 != 0;
      return parts_of<4>({states[0], states[1], odd ? 0.0f : states[2], odd ? states[2] : 0.0f});
    }
  }
  /// A left factor whose inner terms `part` and part + 4 are two things of the first units, or else of the second ones.
  __device__ Parts<4> left_of(bool second, const float (&one)[Sizes::states],
                              const float (&other)[Sizes::states]) const {
    if (!second) return parts_of<4>({one[0], one[1], other[0], other[1]});
    if constexpr (Sizes::eight) {
      return parts_of<4>({one[2], one[3], other[2], other[3]});
    } else {
      const bool odd = part % 2 != 0;
      return parts_of<4>({odd ? 0.0f : one[2], odd ? one[2] : 0.0f, odd ? 0.0f : other[2], odd ? other[2] : 0.0f});
    }
  }
  /// State i in tiles whose columns 2 p + c belong to the units `p` and second_unit(p).
  __device__ float of_state(const TileSums& first, const TileSums& second, int i, int c) const {
    if (i < 2) return first.of[2 * i + c];
    if (Sizes::eight) return second.of[2 * (i % 2) + c];
    return part % 2 != 0 ? second.of[2 + c] : second.of[c];
  }
  /// State i in a tile whose columns 2 p and 2 p + 1 belong to the units `p` and second_unit(p).
  __device__ float of_state(const TileSums& both, int i) const {
    if (i < 2) return both.of[2 * i];
    if (Sizes::eight) return both.of[2 * (i % 2) + 1];
    return part % 2 != 0 ? both.of[3] : both.of[1];
  }
};

/// A lane's elements of the rows of x as left factors: inner terms `part` and part + 4 are the inputs 2 part and 2 part
/// + 1 of a tile of 8.
template <class Sizes>
struct TileInputs {
  const float* next[2];            // element 2 part of the rows `group` and group + 8, of the step that is read next
  bool there[2][Sizes::tiles][2];  // of both elements

  __device__ TileInputs(const TileLane<Sizes>& lane_of, const float* x, int columns, int count) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = lane_of.group + 8 * r;
      next[r] = x + static_cast<std::int64_t>(row) * columns + 2 * lane_of.part;
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        for (int i = 0; i < 2; ++i) {
          there[r][k][i] = row < count && k * tile_inner + 2 * lane_of.part + i < columns;
        }
      }
    }
  }
  /// Reads a step; what is not there stays as it is. `stride`: from a step to the next.
  __device__ void bring(std::int64_t stride, float (&to)[Sizes::tiles][4]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const float* const from = next[r] + k * tile_inner;
        if constexpr (Sizes::pairs) {
          if (!there[r][k][0]) continue;
          const auto both = *reinterpret_cast<const float2*>(from);
          to[k][r] = both.x, to[k][2 + r] = both.y;
        } else {
          if (there[r][k][0]) to[k][r] = from[0];
          if (there[r][k][1]) to[k][2 + r] = from[1];
        }
      }
      next[r] += stride;
    }
  }
};

/// Whether rows of `columns` values can be read two values at a time.
inline bool reads_pairs(const float* values, std::int64_t columns) {
  return columns % 2 == 0 && reinterpret_cast<std::uintptr_t>(values) % (2 * sizeof(float)) == 0;
}

}  // namespace strobe::cuda
