// Gated recurrent unit of up to 8 units in fp32 over all steps in one launch, its products on tensor cores: a warp has
// 16 vertices (recurrent_tensor.hpp), so that 16384 vertices are 1024 warps, which an H100 has at once. x_t, of one
// input for all gates or one for each (up to 24 columns together), is one left factor: weights of other gates' inputs
// are zero. It is read steps ahead and its products are added up a step ahead; those of gates r and z with h follow as
// soon as h is there, and those of n with r h after them. No shared memory, no barriers, no scratch. Cost: the
// compulsory bytes - x and y once; for F = 8, H = 6 by count 18 tile products of 2048 FLOPs, 18 special functions and
// some 180 instructions in all a warp and step.
#include "backends/cuda/kernels/recurrence/tile_sequence.hpp"

namespace strobe::cuda {
namespace gru_tensor_kernels {

template <class Sizes>
struct GruProducts {
  TileSums both[2], candidate[1];

  __device__ GruProducts(const TileLane<Sizes>& own, const GruTileWeights<Sizes>& weights,
                         const TileSums (&sums)[gru_gate_tiles], const TileStates<Sizes, false>& state)
      : both{sums[0], sums[1]}, candidate{sums[2]} {
    multiply_tiles(both, own.left(state.h), weights.of_h);
  }
  template <class Put>
  __device__ void finish(const TileLane<Sizes>& own, const GruTileWeights<Sizes>& weights,
                         TileStates<Sizes, false>& state, Gates<float> (&gate)[Sizes::states], const Put& put) {
    float reset[Sizes::states];
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i].of[0] = quick_squash<1>(own.of_state(both[0], both[1], i, 0));
      reset[i] = gate[i].of[0] * state.h[i];
    }
    multiply_tiles(candidate, own.left(reset), weights.of_reset);
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i].of[1] = quick_squash<1>(own.of_state(both[0], both[1], i, 1));
    }
#pragma unroll
    for (int i = 0; i < Sizes::states; ++i) {
      gate[i].of[2] = quick_squash_both(own.of_state(candidate[0], i));
      state.h[i] = gate[i].of[1] * state.h[i] + (1.0f - gate[i].of[1]) * gate[i].of[2];
      put(i);
    }
  }
};

struct Cell : GruTiles {
  template <class Sizes>
  using Products = GruProducts<Sizes>;
};

const RegisterKernel<GruSequence> tensor{
    "cuda", {"tensor", 3, Cell::serves<GruSequence>, run_tile_sequence<Cell, GruSequence>}};

}  // namespace gru_tensor_kernels
}  // namespace strobe::cuda
