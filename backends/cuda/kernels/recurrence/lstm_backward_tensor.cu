// Backward of the LSTM of up to 8 units and 16 inputs in fp32 through all steps in one launch, its products on tensor
// cores: a warp has 16 vertices (recurrent_tensor.hpp), a block 64. Values of a step are read steps ahead. Its gates
// are computed again, also when the operation has them, as soon as those of the following step are used. So are all
// other factors of the gates' gradients dz, except dh. Between one step's dh and that of the next only a
// few multiplications and the products of dz and the weights. Those with [x_t | h_{t-1} | 1], the gradients of the
// weights, are tiles of sums in registers (recurrent_tensor_backward.hpp); a second launch adds the blocks' parts.
// Cost: the compulsory bytes - x, y, cells and dy once, dx once; for F = 8, H = 6 by count 72 tile products of 2048
// FLOPs, 30 special functions and some 600 instructions in all a warp and step. Scratch: (F + h + 1) 4 h doubles for
// each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/tile_sequence_backward.hpp"

namespace strobe::cuda {
namespace lstm_backward_tensor_kernels {

/// Weights by which gradients of the gates go back: inner terms are i and f of the first units, g and o, and the same
/// of the second ones.
template <class Sizes>
struct LstmBackWeights {
  Parts<2> to_h[4][1], to_x[4][Sizes::tiles];

  __device__ LstmBackWeights(const SequenceGradientArrays<float>& op, const TileLane<Sizes>& own) {
    const auto value = [&](const float* from, int rows, int k, int u, int g) {
      return k < rows && u < op.hidden ? from[(k * 4 + g) * op.hidden + u] : 0.0f;
    };
    const int state = own.group % 2 == 0 ? own.group / 2 : TileLane<Sizes>::second_unit(own.group / 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int u = own.inner_unit(j / 2), g = j % 2 * 2;
      to_h[j][0] = parts_of(value(op.w_h, op.hidden, state, u, g), value(op.w_h, op.hidden, state, u, g + 1));
#pragma unroll
      for (int k = 0; k < Sizes::tiles; ++k) {
        const int input = k * tile_inner + own.group;
        to_x[j][k] = parts_of(value(op.w_x, op.inputs, input, u, g), value(op.w_x, op.inputs, input, u, g + 1));
      }
    }
  }
};

/// Halves of the left factor of weight gradients: x, h, and the bias's 1, which has a column after the states if there
/// is room.
template <class Sizes>
struct LstmLayout {
  static constexpr int h = Sizes::tiles, halves = h + (Sizes::eight ? 2 : 1);
  static constexpr int ones = Sizes::eight ? (h + 1) * tile_inner : h * tile_inner + 7;
  using Rows = TileRows<halves>;
  using Sums = TileWeightSums<Rows, 4>;
  static constexpr int shared_tiles = Sums::tiles;
  // Registers hold the weights that lead to the gates, where there is room.
  using Weights = LaneParts<LstmTileWeights<Sizes>, !Sizes::eight && Sizes::tiles == 1>;
  using Back = LaneParts<LstmBackWeights<Sizes>, false>;
  static constexpr std::size_t bytes = Rows::bytes + Weights::bytes + Back::bytes;

  /// Where weight k of half `half` lies in a part, or negative.
  __device__ static int place(const SequenceGradientArrays<float>& op, int half, int k, int u, int g) {
    const int column = half * tile_inner + k, unit = column - h * tile_inner;
    if (u >= op.hidden) return -1;
    if (column == ones) return ((op.inputs + op.hidden) * 4 + g) * op.hidden + u;
    if (half < h ? column >= op.inputs : unit >= op.hidden) return -1;
    return ((half < h ? column : op.inputs + unit) * 4 + g) * op.hidden + u;
  }
};

/// Factors of a step's gradients: dc += dh cell; dz of gate o is dh times its factor, that of the others dc times
/// theirs; and dc of the step before is dc keep.
template <int states>
struct LstmFactors {
  float cell[states], gate[4][states], keep[states];
};

template <class Sizes>
struct LstmLane {
  using Layout = LstmLayout<Sizes>;
  using Rows = typename Layout::Rows;
  using Arrays = SequenceGradientArrays<float>;
  static constexpr int states = Sizes::states;
  float c[states], dc[states], dh[states];
  LstmFactors<states> factors;

  __device__ void begin(const Arrays& op, int i, std::int64_t last, std::int64_t at, bool valid) {
    c[i] = valid ? op.cells[last] : 0.0f;
    dc[i] = valid && op.dlast != nullptr ? op.dlast[at] : 0.0f;
    dh[i] = 0.0f;
  }
  /// The factors of the step with these values; c is its own cell state, and then the one before.
  template <class Sequence>
  __device__ void prepare(const TileValues<Sizes, true>& in, const Sequence& of) {
    TileSums sum[lstm_gate_tiles];
    of.weights.add_inputs(in.x, sum);
    multiply_tiles(sum, of.own.left(in.h), of.weights.of_h);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const Gates<float> gate = lstm_gates(of.own, sum, i);
      const float squashed = quick_squash_both(c[i]);
      factors.cell[i] = gate.of[3] * (1.0f - squashed * squashed);
      factors.gate[0][i] = gate.of[2] * gate.of[0] * (1.0f - gate.of[0]);
      factors.gate[1][i] = in.c[i] * gate.of[1] * (1.0f - gate.of[1]);
      factors.gate[2][i] = gate.of[0] * (1.0f - gate.of[2] * gate.of[2]);
      factors.gate[3][i] = squashed * gate.of[3] * (1.0f - gate.of[3]);
      factors.keep[i] = gate.of[1];
      c[i] = in.c[i];
    }
  }
  /// Writes the step's gradients to the warp's rows, next to the values that they are multiplied with.
  template <class Sequence>
  __device__ static void stage(const TileValues<Sizes, true>& in, const float (&dz)[4][states], const Sequence& of) {
    stage_inputs<Sizes, Rows>(of.own, in.x, of.rows);
#pragma unroll
    for (int i = 0; i < states; ++i) {
      if (of.own.unit(i) >= Sizes::hidden) continue;
      float* const row = of.rows + of.own.row(i) * Rows::row;
      row[Rows::factors + Layout::h * tile_inner + of.own.unit(i)] = in.h[i];
      reinterpret_cast<Gates<float>*>(row)[of.own.unit(i)] = {{dz[0][i], dz[1][i], dz[2][i], dz[3][i]}};
    }
  }
  template <class Sequence>
  __device__ void differentiate(const TileValues<Sizes, true>& in, const Sequence& of, BackProducts<Sizes>& products) {
    float dz[4][states];
#pragma unroll
    for (int i = 0; i < states; ++i) {
      const float d = dh[i] + in.dy[i], dcell = dc[i] + d * factors.cell[i];
      for (int g = 0; g < 4; ++g) dz[g][i] = (g == 3 ? d : dcell) * factors.gate[g][i];
      dc[i] = dcell * factors.keep[i];
    }
    stage(in, dz, of);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Parts<4> left = of.own.left_of(j >= 2, dz[j % 2 * 2], dz[j % 2 * 2 + 1]);
      multiply_tiles(products.of_h[j % 2], left, of.back.to_h[j]);
      multiply_tiles(products.of_x, left, of.back.to_x[j]);
    }
  }
  __device__ void take(const BackProducts<Sizes>& products, const TileLane<Sizes>& own) {
#pragma unroll
    for (int i = 0; i < states; ++i) dh[i] = products.of_state(own, i);
  }
  __device__ void put_start(const Arrays& op, int i, std::int64_t at) const {
    op.dstart[at] = dh[i];
    op.dstart[op.state_step + at] = dc[i];
  }
};

struct Cell : LstmTiles {
  template <class Sizes>
  using Layout = LstmLayout<Sizes>;
  template <class Sizes>
  using BackWeights = LstmBackWeights<Sizes>;
  template <class Sizes>
  using Lane = LstmLane<Sizes>;
};

const RegisterKernel<LstmSequenceBackward> tensor{
    "cuda", {"tensor", 3, Cell::serves<LstmSequenceBackward>, run_tile_sequence_backward<Cell, LstmSequenceBackward>}};

}  // namespace lstm_backward_tensor_kernels
}  // namespace strobe::cuda
