// Backward of the gated recurrent unit of up to 8 units in fp32 through all steps in one launch, its products on tensor
// cores: a warp has 16 vertices (recurrent_tensor.hpp), a block 64. Inputs are one for all gates or one for each, up to
// 24 columns together. Values of a step are read steps ahead; its gates are computed again, also where the operation
// 24 columns together. Values of a step are read steps ahead. Its gates are computed again, also when the operation has
// them, as soon as those of the following step are used. So are all other factors of the gates' gradients dz, except
// dh. Between one step's dh and that of the next are the products of dz_n and the weights of r h, which give the
// gradient of r h and dz_r, and those of dz_r and dz_z. Products with [x_t | h_{t-1} | r h | 1], the gradients of the
// weights, are tiles of sums in registers (recurrent_tensor_backward.hpp); a second launch adds the blocks' parts.
// Cost: the compulsory bytes - x, y and dy once, dx once; for F = 8, H = 6 by count 60 tile products of 2048 FLOPs, 18
// special functions and some 510 instructions in all a warp and step. Scratch: 3 (F + h + 1) h doubles for each of
// at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/tile_sequence_backward.hpp"

namespace strobe::cuda {
namespace gru_backward_tensor_kernels {

/// Which of gate g's inputs a column of x is, or what is none of them.
__device__ inline int input_of(const SequenceGradientArrays<float>& op, int column, int g) {
  return op.own_inputs() ? column - g * op.inputs : column;
}

/// Weights by which gradients of the gates go back: inner terms are r and z of the first units, the same of the second
/// ones, and n of both.
template <class Sizes>
struct GruBackWeights {
  Parts<2> to_h[2][1], to_reset[1], to_x[3][Sizes::tiles];

  __device__ GruBackWeights(const SequenceGradientArrays<float>& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int g, int k, int u) {
      return k >= 0 && k < rows && u < op.hidden ? from[(g * rows + k) * op.hidden + u] : 0.0f;
    };
    const int state = own.group % 2 == 0 ? own.group / 2 : TileLane<Sizes>::second_unit(own.group / 2);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const auto unit = [&](int i) { return own.inner_unit(j < 2 ? j : i); };
      const auto gate = [&](int i) { return j < 2 ? i : 2; };
      (j < 2 ? to_h[j][0] : to_reset[0]) = parts_of(value(op.w_h, op.hidden, gate(0), state, unit(0)),
                                                    value(op.w_h, op.hidden, gate(1), state, unit(1)));
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int column = k * tile_inner + own.group;
        to_x[j][k] = parts_of(value(op.w_x, op.inputs, gate(0), input_of(op, column, gate(0)), unit(0)),
                              value(op.w_x, op.inputs, gate(1), input_of(op, column, gate(1)), unit(1)));
      }
    }
  }
};

/// Halves of the left factor of weight gradients: x, h, r h, and the bias's 1, which has a column after those of h if
/// there is room.
template <class Sizes>
struct GruLayout {
  static constexpr int h = Sizes::tiles, reset = h + 1, halves = h + (Sizes::eight ? 3 : 2);
  static constexpr int ones = Sizes::eight ? (h + 2) * tile_inner : h * tile_inner + 7;
  static constexpr int shared_tiles = Sizes::eight ? (halves + 1) / 2 : reset / 2;  // that more than gate n has
  using Rows = TileRows<halves>;
  using Sums = TileWeightSums<Rows, 3>;
  static constexpr bool registers = !Sizes::eight && Sizes::tiles == 1;  // hold the weights
  using Weights = LaneParts<GruTileWeights<Sizes>, registers>;
  using Back = LaneParts<GruBackWeights<Sizes>, registers>;
  static constexpr std::size_t bytes = Rows::bytes + Weights::bytes + Back::bytes;

  /// Where weight k of half `half` lies in a part, or negative.
  __device__ static int place(const SequenceGradientArrays<float>& op, int half, int k, int u, int g) {
    const int column = half * tile_inner + k, input = input_of(op, column, g);
    if (u >= op.hidden) return -1;
    if (column == ones) return (3 * (op.inputs + op.hidden) + g) * op.hidden + u;
    if (half < h) return input >= 0 && input < op.inputs ? (g * op.inputs + input) * op.hidden + u : -1;
    if (k >= op.hidden || half != (g < 2 ? h : reset)) return -1;
    return (3 * op.inputs + g * op.hidden + k) * op.hidden + u;
  }
};

/// Factors of a step's gradients. dz of gates z and n are dh times their factors; dz of r is the gradient of r h times
/// its own factor. dh of the step before gets r times the gradient of r h, and z times dh. `r h` itself is here too.
template <int states>
struct GruFactors {
  float gate[3][states], r[states], z[states], reset[states];
};

template <class Sizes>
struct GruLane {
  using Layout = GruLayout<Sizes>;
  using Rows = typename Layout::Rows;
  using Arrays = SequenceGradientArrays<float>;
  static constexpr int states = Sizes::states;
  float dh[states];
  GruFactors<states> factors;

  __device__ void begin(const Arrays&, int i, std::int64_t, std::int64_t, bool) { dh[i] = 0.0f; }
  /// The factors of the step with these values.
  template <class Sequence>
  __device__ void prepare(const TileValues<Sizes, false>& in, const Sequence& of) {
    const TileLane<Sizes>& own = of.own;
    const auto& weights = of.weights;
    TileSums sum[gru_gate_tiles];
    weights.add_inputs(in.x, sum);
    TileSums both[2]{sum[0], sum[1]}, candidate[1]{sum[2]};
    multiply_tiles(both, own.left(in.h), weights.of_h);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float r = quick_squash<1>(own.of_state(both[0], both[1], i, 0));
      factors.r[i] = r;
      factors.reset[i] = r * in.h[i];
      factors.gate[0][i] = factors.reset[i] * (1.0f - r);
    }
    multiply_tiles(candidate, own.left(factors.reset), weights.of_reset);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float z = quick_squash<1>(own.of_state(both[0], both[1], i, 1)),
                  n = quick_squash_both(own.of_state(candidate[0], i));
      factors.z[i] = z;
      factors.gate[1][i] = (in.h[i] - n) * z * (1.0f - z);
      factors.gate[2][i] = (1.0f - z) * (1.0f - n * n);
    }
  }
  /// Writes the step's gradients to the warp's rows, next to the values that they are multiplied with.
  template <class Sequence>
  __device__ void stage(const TileValues<Sizes, false>& in, const float (&dz)[3][states], const Sequence& of) const {
    stage_inputs<Sizes, Rows>(of.own, in.x, of.rows);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      float* const row = of.rows + of.own.row(i) * Rows::row;
      row[Rows::factors + Layout::h * tile_inner + of.own.unit(i)] = in.h[i];
      row[Rows::factors + Layout::reset * tile_inner + of.own.unit(i)] = factors.reset[i];
      reinterpret_cast<Gates<float>*>(row)[of.own.unit(i)] = {{dz[0][i], dz[1][i], dz[2][i], 0.0f}};
    }
  }
  /// Gradients of the gates from dh, which becomes that of the step before, without the products of_h.
  template <class Sequence>
  __device__ void differentiate(const TileValues<Sizes, false>& in, const Sequence& of, BackProducts<Sizes>& products) {
    const TileLane<Sizes>& own = of.own;
    const auto& back = of.back;
    float dz[3][states];
#pragma unroll
    for (int i = 0; i < states; ++i) {
      dh[i] += in.dy[i];
      for (int g = 1; g < 3; ++g) dz[g][i] = dh[i] * factors.gate[g][i];
    }
    TileSums of_reset[1] = {};
    const Parts<4> left = own.left(dz[2]);
    multiply_tiles(of_reset, left, back.to_reset);
    multiply_tiles(products.of_x, left, back.to_x[2]);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float reset = own.of_state(of_reset[0], i);
      dz[0][i] = reset * factors.gate[0][i];
      dh[i] = dh[i] * factors.z[i] + reset * factors.r[i];
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const Parts<4> both = own.left_of(j == 1, dz[0], dz[1]);
      multiply_tiles(products.of_h[j], both, back.to_h[j]);
      multiply_tiles(products.of_x, both, back.to_x[j]);
    }
    stage(in, dz, of);
  }
  __device__ void take(const BackProducts<Sizes>& products, const TileLane<Sizes>& own) {
#pragma unroll
    for (int i = 0; i < states; ++i) dh[i] += products.of_state(own, i);
  }
  __device__ void put_start(const Arrays& op, int i, std::int64_t at) const { op.dstart[at] = dh[i]; }
};

struct Cell : GruTiles {
  template <class Sizes>
  using Layout = GruLayout<Sizes>;
  template <class Sizes>
  using BackWeights = GruBackWeights<Sizes>;
  template <class Sizes>
  using Lane = GruLane<Sizes>;
};

const RegisterKernel<GruSequenceBackward> tensor{
    "cuda", {"tensor", 3, Cell::serves<GruSequenceBackward>, run_tile_sequence_backward<Cell, GruSequenceBackward>}};

}  // namespace gru_backward_tensor_kernels
}  // namespace strobe::cuda
