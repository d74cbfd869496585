// LSTM of up to 8 units and 16 inputs over all steps in one launch: a lane has one unit of one vertex (LaneUnit), so
// that 16384 vertices of 6 units are 3277 warps. A warp copies x_t in storage order, two steps ahead, into registers
// and from there to its staged rows [x_t | h_{t-1}], which exist twice: one barrier of the warp a step. Every lane
// reads its vertex's row in vectors of 4 values that all lanes of the vertex share. Cost: the compulsory bytes - x, y
// and cells once - in transfers of whole sectors; for F = 8, H = 6 some 110 instructions a warp and step for 5
// vertices, 56 of them multiply-adds, and 10 special functions. No scratch; 2 V (F + 8) values of shared memory a
// warp, V = 5 vertices.
#include "backends/cuda/kernels/recurrence/lane_sequence.hpp"

namespace strobe::cuda {
namespace lstm_lanes_kernels {

struct Cell : LstmLanes {
  /// Bounds registers to 96, 128 or 168.
  static constexpr int resident(int inputs) { return inputs <= 8 ? 10 : inputs <= 12 ? 8 : 6; }

  template <class Sizes, class T, class Weights>
  __device__ static Gates<T> gates_of(const SequenceArrays<T>& op, const T* row, const Weights& weights) {
    const auto* in = reinterpret_cast<const Gates<T>*>(row);
    Gates<T> sum = weights[Sizes::inputs + Sizes::hidden];
#pragma unroll
    for (int k = 0; k < Sizes::inputs; k += 4) {
      if (Sizes::skips && k >= op.inputs) break;
      const Gates<T> x = in[k / 4];
      for (int i = 0; i < 4; ++i) sum.add(x.of[i], weights[k + i]);
    }
#pragma unroll
    for (int k = 0; k < Sizes::hidden; k += 4) {
      const Gates<T> before = in[(Sizes::inputs + k) / 4];
#pragma unroll
      for (int i = 0; i < 4 && k + i < Sizes::hidden; ++i) sum.add(before.of[i], weights[Sizes::inputs + k + i]);
    }
    activate_lstm(sum);
    return sum;
  }
  template <class Sizes, class T, class Weights>
  __device__ static Gates<T> advance(const SequenceArrays<T>& op, const T* row, const Weights& weights,
                                     const LaneUnit<Sizes>&, LaneState<T, true>& state) {
    const Gates<T> gate = gates_of<Sizes>(op, row, weights);
    state.c = gate.of[1] * state.c + gate.of[0] * gate.of[2];
    state.h = gate.of[3] * quick_squash_both(state.c);
    return gate;
  }
};

const RegisterKernel<LstmSequence> lanes{
    "cuda", {"lanes", 2, Cell::serves<LstmSequence>, run_lane_sequence<Cell, LstmSequence>}};

}  // namespace lstm_lanes_kernels
}  // namespace strobe::cuda
