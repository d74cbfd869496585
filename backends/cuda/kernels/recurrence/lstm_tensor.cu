// LSTM of up to 8 units and 16 inputs in fp32 over all steps in one launch, its products on tensor cores: a warp has 16
// vertices (recurrent_tensor.hpp), so that 16384 vertices are 1024 warps, which an H100 has at once. Weights of all
// gates are a lane's right factors, in registers; x_t is read steps ahead, straight into the left factor, and its
// products are added up a step ahead; those with h_{t-1} follow as soon as it is there. No shared memory, no barriers,
// no scratch. Cost: the compulsory bytes - x, y and cells once; for F = 8, H = 6 by count 24 tile products of 2048
// FLOPs, 30 special functions and some 220 instructions in all a warp and step.
#include "backends/cuda/kernels/recurrence/tile_sequence.hpp"

namespace strobe::cuda {
namespace lstm_tensor_kernels {

template <class Sizes>
struct LstmProducts {
  TileSums sum[lstm_gate_tiles];

  __device__ LstmProducts(const TileLane<Sizes>& own, const LstmTileWeights<Sizes>& weights,
                          const TileSums (&inputs)[lstm_gate_tiles], const TileStates<Sizes, true>& state) {
    for (int j = 0; j < lstm_gate_tiles; ++j) sum[j] = inputs[j];
    multiply_tiles(sum, own.left(state.h), weights.of_h);
  }
  template <class Put>
  __device__ void finish(const TileLane<Sizes>& own, const LstmTileWeights<Sizes>&, TileStates<Sizes, true>& state,
                         Gates<float> (&gate)[Sizes::states], const Put& put) const {
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i] = lstm_gates(own, sum, i);
      state.c[i] = gate[i].of[1] * state.c[i] + gate[i].of[0] * gate[i].of[2];
      state.h[i] = gate[i].of[3] * quick_squash_both(state.c[i]);
    }
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) put(i);
  }
};

struct Cell : LstmTiles {
  template <class Sizes>
  using Products = LstmProducts<Sizes>;
};

const RegisterKernel<LstmSequence> tensor{
    "cuda", {"tensor", 3, Cell::serves<LstmSequence>, run_tile_sequence<Cell, LstmSequence>}};

}  // namespace lstm_tensor_kernels
}  // namespace strobe::cuda
