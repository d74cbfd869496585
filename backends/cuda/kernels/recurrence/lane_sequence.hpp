// A recurrence of up to 8 units over all steps in one launch: a lane has one unit of one vertex (recurrent_lanes.hpp).
// A warp copies x_t in storage order, two steps ahead, into registers and from there to its staged rows, which exist
// twice. Cell is what an LSTM and a GRU differ in: LstmLanes or GruLanes, and of the forward pass
//   State<T>: a unit's h and what else passes from step to step; begin(op, place, valid), put(op, place)
//   advance<Sizes>(op, row, weights, own, state): a step's gates, from which the state becomes the next one
//   resident(inputs): blocks on a multiprocessor, which bound registers
#pragma once

#include "backends/cuda/kernels/recurrence/lane_cells.hpp"

namespace strobe::cuda {

inline constexpr int lane_sequence_threads = 64, lane_sequence_warps = lane_sequence_threads / warp_lanes;

template <class T, class Sizes, class Cell>
struct LaneSequenceLayout {
  using Row = typename Cell::template Row<Sizes>;
  static constexpr int row = Row::values, rows = Sizes::vertices * row;
  static constexpr int copies = Sizes::copies(Cell::copied * Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, sizeof(T) == 4>;
  static constexpr std::size_t bytes =
      Weights::shared_gates * sizeof(Gates<T>) + lane_sequence_warps * 2 * rows * sizeof(T);
  static constexpr int resident = Cell::resident(Sizes::inputs);
};

/// A lane's share of a warp's vertices.
template <class T, class Sizes, class Cell>
struct LaneSequence {
  using Own = LaneSequenceLayout<T, Sizes, Cell>;
  using Arrays = SequenceArrays<T>;
  const typename Own::Weights& weights;
  T* const staged;  // the warp's rows, twice
  const LaneUnit<Sizes>& own;
  const LaneElements<Own::copies> elements;
  const T* next_x;     // this lane's first element of the step that is read next
  std::int64_t place;  // this lane's unit of the step that is computed
  typename Cell::template State<T> state;
  T ahead[2][Own::copies];

  __device__ LaneSequence(const Arrays& op, const typename Own::Weights& lane_weights, T* rows,
                          const LaneUnit<Sizes>& unit)
      : weights(lane_weights),
        staged(rows),
        own(unit),
        elements(Sizes::vertices, Cell::columns(op), op.inputs, Cell::template padded<Sizes>, Own::row) {}

  /// The row of this lane's vertex for steps of that parity.
  __device__ T* own_row(int parity) const { return staged + own.vertex * Own::row + parity * Own::rows; }
  /// Reads x of step t, the one behind that of the last call.
  __device__ void bring(const Arrays& op, int t, T* to) {
    if (t >= op.steps) return;
    elements.each(own.count * Cell::columns(op), [&](int j, int) { to[j] = next_x[j * warp_lanes]; });
    next_x += op.x_step;
  }
  /// What a step of that parity reads to its rows.
  __device__ void stage(const Arrays& op, const T* x, int parity) {
    Cell::template stage_inputs<Sizes>(op, elements, x, staged + parity * Own::rows);
    if (!own.spare) own_row(parity)[Own::Row::h + own.unit] = state.h;
  }
  __device__ void begin(const Arrays& op) {
    for (int i = lane(); i < 2 * Own::rows; i += warp_lanes) staged[i] = T{0};
    next_x = op.x + own.first * Cell::columns(op) + lane();
    place = (own.first + own.vertex) * op.hidden + own.unit;
    state.begin(op, place, own.valid);
    T first[Own::copies] = {};
    for (auto& values : ahead) {
      for (T& value : values) value = T{0};
    }
    bring(op, 0, first);
    bring(op, 1, ahead[0]);
    bring(op, 2, ahead[1]);
    __syncwarp();
    stage(op, first, 0);
    __syncwarp();
  }
  template <int parity>
  __device__ void step(const Arrays& op, int t) {
    const Gates<T> gate = Cell::template advance<Sizes>(op, own_row(parity), weights, own, state);
    stage(op, ahead[parity], 1 - parity);
    bring(op, t + 3, ahead[parity]);
    __syncwarp();
    if (own.valid) state.put(op, place);
    if (op.gates != nullptr && own.valid) {
      T* const to = op.gates + Cell::gates * place - (Cell::gates - 1) * own.unit;
      for (int g = 0; g < Cell::gates; ++g) to[g * op.hidden] = gate.of[g];
    }
    place += op.state_step;
  }
};

template <class T, class Sizes, class Cell>
__global__ void __launch_bounds__(lane_sequence_threads, LaneSequenceLayout<T, Sizes, Cell>::resident)
    run_lanes_forward(SequenceArrays<T> op) {
  using Own = LaneSequenceLayout<T, Sizes, Cell>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return Cell::template weight<Sizes>(op, k, u, g); });
  own.begin(grid_thread() / warp_lanes * Sizes::vertices, op.n, op.hidden);
  if (own.count <= 0) return;
  T* const rows = reinterpret_cast<T*>(shared + Own::Weights::shared_gates) + warp() * 2 * Own::rows;
  LaneSequence<T, Sizes, Cell> sequence(op, weights, rows, own);
  sequence.begin(op);
  for (int t = 0; t < op.steps; t += 2) {
    sequence.template step<0>(op, t);
    if (t + 1 < op.steps) sequence.template step<1>(op, t + 1);
  }
}

template <class Cell, class Op>
void run_lane_sequence(const Op& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const SequenceArrays<T> arrays = sequence_arrays<T>(op);
    Cell::template with_sizes<T>(arrays.inputs, arrays.hidden, [&](auto sizes) {
      using Sizes = decltype(sizes);
      const std::int64_t blocks = divide_up(arrays.n, Sizes::vertices * lane_sequence_warps);
      launch(context, blocks, lane_sequence_threads, LaneSequenceLayout<T, Sizes, Cell>::bytes,
             run_lanes_forward<T, Sizes, Cell>, arrays);
    });
  });
}

}  // namespace strobe::cuda
