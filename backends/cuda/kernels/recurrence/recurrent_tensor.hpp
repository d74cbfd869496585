// What the recurrences of narrow states (up to 8 units) share where tensor cores carry out their products in fp32. A
// warp takes 16 vertices through all steps: the rows of a tile. The order of a product's inner terms is free, and so is
// that of its columns; both are such that every lane computes exactly those gates that its own units need, and that
// the states it gets are what it gives to the next product: nothing passes from lane to lane between steps. A lane has
// one of the first four units of two vertices, `group` and `group` + 8. Of the units behind these it has one of both
// vertices too, or, where there are at most two, a unit that it shares with the lane beside it: each has one vertex.
// fp32 values go into the products in two parts of 11 bits, high and low, and three of the four products of parts are
// added up; what is left out is below 2^-21 of a term. An infinite value has no parts: it gives NaN.
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

/// A lane's elements of a tile [16, 8] of sums: columns 2 part and 2 part + 1 of row `group`, then of row group + 8. Of
/// a left factor [16, 8] it has column `part` of both rows and then column part + 4; of a right one [8, 8] column
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

  /// Unit of the states behind the first two, of the lanes `of_part`.
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
  /// Of tiles whose columns 2 p + c are something of the units `p` and second_unit(p): that of state i.
  __device__ float of_state(const TileSums& first, const TileSums& second, int i, int c) const {
    if (i < 2) return first.of[2 * i + c];
    if (Sizes::eight) return second.of[2 * (i % 2) + c];
    return part % 2 != 0 ? second.of[2 + c] : second.of[c];
  }
  /// Of a tile whose columns 2 p and 2 p + 1 are of the units `p` and second_unit(p).
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

inline constexpr int lstm_gate_tiles = 4;

/// A lane's share of an LSTM's weights. Gates come in tiles of columns: of the first units i and f, and g and o; then
/// those of the second ones.
template <class Sizes>
struct LstmTileWeights {
  Parts<2> of_x[Sizes::tiles][lstm_gate_tiles], of_h[lstm_gate_tiles];
  TileSums bias[lstm_gate_tiles];

  template <class Op>
  __device__ LstmTileWeights(const Op& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int k, int u, int g) {
      return k < rows && u < op.hidden ? from[(k * 4 + g) * op.hidden + u] : 0.0f;
    };
#pragma unroll
    for (int j = 0; j < lstm_gate_tiles; ++j) {
      const auto unit = [&](int part) { return j < 2 ? part : TileLane<Sizes>::second_unit(part); };
      const int u = unit(own.group / 2), g = j % 2 * 2 + own.group % 2;
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int first = k * tile_inner + 2 * own.part;
        of_x[k][j] = parts_of(value(op.w_x, op.inputs, first, u, g), value(op.w_x, op.inputs, first + 1, u, g));
      }
      of_h[j] = parts_of(value(op.w_h, op.hidden, own.inner_unit(0), u, g),
                         value(op.w_h, op.hidden, own.inner_unit(1), u, g));
      for (int i = 0; i < 4; ++i) bias[j].of[i] = value(op.bias, 1, 0, unit(own.part), j % 2 * 2 + i % 2);
    }
  }
  /// Sums of a step, as far as they do not need h.
  __device__ void add_inputs(const float (&x)[Sizes::tiles][4], TileSums (&sums)[lstm_gate_tiles]) const {
#pragma unroll
    for (int j = 0; j < lstm_gate_tiles; ++j) sums[j] = bias[j];
#pragma unroll
    for (int k = 0; k < Sizes::tiles; ++k) multiply_tiles(sums, parts_of(x[k]), of_x[k]);
  }
};

/// The gates of state i, activated.
template <class Sizes>
__device__ Gates<float> lstm_gates(const TileLane<Sizes>& own, const TileSums (&sums)[lstm_gate_tiles], int i) {
  Gates<float> gate;
  for (int g = 0; g < 4; ++g) {
    const float value = own.of_state(sums[g / 2], sums[2 + g / 2], i, g % 2);
    gate.of[g] = g == 2 ? quick_squash_both(value) : quick_squash<1>(value);
  }
  return gate;
}

inline constexpr int gru_gate_tiles = 3, most_gru_tile_columns = 24;

/// A lane's share of a GRU's weights. Gates come in tiles of columns: r and z of the first units and of the second
/// ones, and n of both.
template <class Sizes>
struct GruTileWeights {
  Parts<2> of_x[Sizes::tiles][gru_gate_tiles], of_h[2], of_reset[1];
  TileSums bias[gru_gate_tiles];

  template <class Op>
  __device__ GruTileWeights(const Op& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int g, int k, int u) {
      return k >= 0 && k < rows && u < op.hidden ? from[(g * rows + k) * op.hidden + u] : 0.0f;
    };
    const bool own_inputs = op.columns > op.inputs;
#pragma unroll
    for (int j = 0; j < gru_gate_tiles; ++j) {
      const auto unit = [&](int column) {
        const bool second = j < 2 ? j == 1 : column % 2 != 0;
        return second ? TileLane<Sizes>::second_unit(column / 2) : column / 2;
      };
      const auto gate = [&](int column) { return j < 2 ? column % 2 : 2; };
      const int u = unit(own.group), g = gate(own.group);
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int input = k * tile_inner + 2 * own.part - (own_inputs ? g * op.inputs : 0);
        of_x[k][j] = parts_of(value(op.w_x, op.inputs, g, input, u), value(op.w_x, op.inputs, g, input + 1, u));
      }
      (j < 2 ? of_h[j] : of_reset[0]) = parts_of(value(op.w_h, op.hidden, g, own.inner_unit(0), u),
                                                 value(op.w_h, op.hidden, g, own.inner_unit(1), u));
      for (int i = 0; i < 4; ++i) {
        const int column = 2 * own.part + i % 2;
        bias[j].of[i] = value(op.bias, 1, gate(column), 0, unit(column));
      }
    }
  }
  /// Sums of a step, as far as they do not need h.
  __device__ void add_inputs(const float (&x)[Sizes::tiles][4], TileSums (&sums)[gru_gate_tiles]) const {
#pragma unroll
    for (int j = 0; j < gru_gate_tiles; ++j) sums[j] = bias[j];
#pragma unroll
    for (int k = 0; k < Sizes::tiles; ++k) multiply_tiles(sums, parts_of(x[k]), of_x[k]);
  }
};

/// Whether rows of `columns` values can be read two values at a time.
inline bool reads_pairs(const float* values, std::int64_t columns) {
  return columns % 2 == 0 && reinterpret_cast<std::uintptr_t>(values) % (2 * sizeof(float)) == 0;
}

}  // namespace strobe::cuda
