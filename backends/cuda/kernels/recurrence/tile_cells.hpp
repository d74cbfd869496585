// An LSTM and a GRU for the kernels on tensor cores, forward and backward: a lane's weights, and the compiled sizes.
// tile_sequence.hpp and tile_sequence_backward.hpp hold the code that is the same for both.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_tensor.hpp"

namespace strobe::cuda {

/// A lane's share of the weights of x and of the biases, for `gates` tiles of columns.
template <class Sizes, int gates>
struct TileInputWeights {
  Parts<2> of_x[Sizes::tiles][gates];
  TileSums bias[gates];

  /// Sums of a step, as far as they do not need h.
  __device__ void add_inputs(const float (&x)[Sizes::tiles][4], TileSums (&sums)[gates]) const {
#pragma unroll
    for (int j = 0; j < gates; ++j) sums[j] = bias[j];
#pragma unroll
    for (int k = 0; k < Sizes::tiles; ++k) multiply_tiles(sums, parts_of(x[k]), of_x[k]);
  }
};

/// A lane's states h and, in an LSTM, c.
template <class Sizes, bool has_cells>
struct TileStates {
  float h[Sizes::states], c[has_cells ? Sizes::states : 1];

  __device__ void begin(const SequenceArrays<float>& op, int i, std::int64_t at, bool from) {
    h[i] = from ? op.start[at] : 0.0f;
    if constexpr (has_cells) c[i] = from ? op.start[op.state_step + at] : 0.0f;
  }
};

inline constexpr int lstm_gate_tiles = 4;

/// A lane's share of an LSTM's weights. Gates come in tiles of columns: of the first units i and f, and g and o; then
/// those of the second ones.
template <class Sizes>
struct LstmTileWeights : TileInputWeights<Sizes, lstm_gate_tiles> {
  using TileInputWeights<Sizes, lstm_gate_tiles>::of_x, TileInputWeights<Sizes, lstm_gate_tiles>::bias;
  Parts<2> of_h[lstm_gate_tiles];

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
struct GruTileWeights : TileInputWeights<Sizes, gru_gate_tiles> {
  using TileInputWeights<Sizes, gru_gate_tiles>::of_x, TileInputWeights<Sizes, gru_gate_tiles>::bias;
  Parts<2> of_h[2], of_reset[1];

  template <class Op>
  __device__ GruTileWeights(const Op& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int g, int k, int u) {
      return k >= 0 && k < rows && u < op.hidden ? from[(g * rows + k) * op.hidden + u] : 0.0f;
    };
    const bool own_inputs = op.own_inputs();
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
};

struct LstmTiles {
  static constexpr bool has_cells = true;
  static constexpr int gates = 4, gate_tiles = lstm_gate_tiles;
  template <class Sizes>
  using Weights = LstmTileWeights<Sizes>;

  template <class Op>
  static bool serves(const Op& op) {
    return without_restarts(op) && op.y.type() == ElementType::f32 && op.x.columns() > 0 &&
           op.x.columns() <= narrow_inputs && op.w_h.rows() <= narrow_hidden && !op.x_right.defined() &&
           !op.w_in.defined() && has_tile_products();
  }
  /// Columns of x, which are the inputs of every gate.
  template <class Arrays>
  __device__ static int columns(const Arrays& op) {
    return op.inputs;
  }
  /// Calls body(TileSizes) with the smallest that serve; `pairs`: rows are read two values at a time, and units are at
  /// most 6. `most_ahead`: steps on their way where registers are left.
  template <int most_ahead, class Body>
  static void with_sizes(bool pairs, std::int64_t columns, const Body& body) {
    if (pairs && columns <= 8) return body(TileSizes<1, false, true, most_ahead>{});
    if (pairs && columns <= 12) return body(TileSizes<2, false, true, 2>{});
    body(TileSizes<2, true, false, 2>{});
  }
};

struct GruTiles {
  static constexpr bool has_cells = false;
  static constexpr int gates = 3, gate_tiles = gru_gate_tiles;
  template <class Sizes>
  using Weights = GruTileWeights<Sizes>;

  template <class Op>
  static bool serves(const Op& op) {
    return without_restarts(op) && op.y.type() == ElementType::f32 && op.x.columns() > 0 &&
           op.x.columns() <= most_gru_tile_columns && op.w_h.columns() <= narrow_hidden && has_tile_products();
  }
  template <class Arrays>
  __device__ static int columns(const Arrays& op) {
    return op.columns;
  }
  template <int most_ahead, class Body>
  static void with_sizes(bool pairs, std::int64_t columns, const Body& body) {
    if (pairs && columns <= 8) return body(TileSizes<1, false, true, most_ahead>{});
    if (pairs) return body(TileSizes<3, false, true, 2>{});
    body(TileSizes<3, true, false, 2>{});
  }
};

}  // namespace strobe::cuda
