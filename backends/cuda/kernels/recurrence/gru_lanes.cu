// Gated recurrent unit of up to 8 units and 16 inputs of a gate over all steps in one launch: a lane has one unit of
// one vertex (LaneUnit). A warp copies x_t in storage order, two steps ahead, into registers and from there to its
// staged rows [x^r | x^z | x^n | h | r h], which exist twice; inputs that all gates share are staged three times. Two
// barriers of the warp a step: one before r h is read, one before the next step. Cost: the compulsory bytes - x and y
// once - in transfers of whole sectors; for 3 x 6 inputs and 6 units some 110 instructions a warp and step for 5
// vertices, 36 of them multiply-adds, and 6 special functions. No scratch.
#include "backends/cuda/kernels/recurrence/lane_sequence.hpp"

namespace strobe::cuda {
namespace gru_lanes_kernels {

struct Cell : GruLanes {
  /// Bounds registers to 80, 96 or 168.
  static constexpr int resident(int inputs) { return inputs <= 6 ? 12 : inputs <= 8 ? 10 : 6; }

  template <class Sizes, class T, class Weights>
  __device__ static Gates<T> advance(const SequenceArrays<T>& op, T* row, const Weights& weights,
                                     const LaneUnit<Sizes>& own, LaneState<T, false>& state) {
    Gates<T> gate = first_gru_gates<Sizes>(op, reinterpret_cast<const Gates<T>*>(row), weights);
    if (!own.spare) row[Row<Sizes>::reset + own.unit] = gate.of[0] * state.h;
    __syncwarp();
    add_gru_reset<Sizes>(reinterpret_cast<const Gates<T>*>(row), weights, gate);
    state.h = gate.of[1] * state.h + (T{1} - gate.of[1]) * gate.of[2];
    return gate;
  }
  template <class T, class Body>
  static void with_sizes(std::int64_t inputs, std::int64_t hidden, const Body& body) {
    with_sizes_up_to<T, LaneSizes<narrow_inputs, narrow_hidden>>(inputs, hidden, body);
  }
};

const RegisterKernel<GruSequence> lanes{"cuda",
                                        {"lanes", 2, Cell::serves<GruSequence>, run_lane_sequence<Cell, GruSequence>}};

}  // namespace gru_lanes_kernels
}  // namespace strobe::cuda
