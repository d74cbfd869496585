// A recurrence of up to 8 units over all steps in one launch: a lane has one unit of one vertex (recurrent_lanes.hpp).
// A warp copies x_t in storage order, two steps ahead, into registers and from there to its staged rows, which exist
// twice. Packed sequences have kernels of their own, so that those of timelines hold no register for them. Cell is what
// an LSTM and a GRU differ in: LstmLanes or GruLanes, and of the forward pass
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

/// A unit's states h and, in an LSTM, c.
template <class T, bool has_cells>
struct LaneState {
  T h, c;

  /// From value `at` of start, whose blocks lie `states` values apart, or zero.
  __device__ void begin(const SequenceArrays<T>& op, std::int64_t at, bool given, std::int64_t states) {
    h = given ? op.start[at] : T{0};
    if constexpr (has_cells) c = given ? op.start[at + states] : T{0};
  }
  __device__ void put(const SequenceArrays<T>& op, std::int64_t place) const {
    op.y[place] = h;
    if constexpr (has_cells) op.cells[place] = c;
  }
};

/// Where the state of a lane's unit comes from: of timelines, once from start.
template <class Arrays, class State>
struct LaneStarts {
  template <class Unit>
  __device__ void begin(const Arrays& op, const Unit& own, std::int64_t place, State& state) {
    state.begin(op, place, own.valid && op.start != nullptr, op.state_step);
  }
};

/// Packed sequences, which may begin at any step. Origins are read three steps ahead and their rows of start two, so
/// that no step waits for either.
template <class Base, class State>
struct LaneStarts<PackedArrays<Base>, State> {
  using Arrays = PackedArrays<Base>;
  int next, second;  // origins of the step after the current one, and of the one after that
  State given;       // state of the step after the current one

  template <class Unit>
  __device__ static int origin(const Arrays& op, const Unit& own, int t) {
    return own.valid && t < op.steps ? op.origin(t, own.first + own.vertex) : static_cast<int>(goes_on);
  }
  template <class Unit>
  __device__ static void bring(const Arrays& op, const Unit& own, int from, State& state) {
    state.begin(op, std::int64_t{from} * op.hidden + own.unit, from >= 0, op.start_states());
  }
  template <class Unit>
  __device__ void begin(const Arrays& op, const Unit& own, std::int64_t, State& state) {
    bring(op, own, origin(op, own, 0), state);
    next = origin(op, own, 1);
    bring(op, own, next, given);
    second = origin(op, own, 2);
  }
  /// Makes the state after step t the one that step t + 1 begins with.
  template <class Unit>
  __device__ void restart(const Arrays& op, const Unit& own, int t, State& state) {
    if (next != goes_on) state = given;
    next = second;
    bring(op, own, next, given);
    second = origin(op, own, t + 3);
  }
};

/// A lane's share of a warp's vertices.
template <class Arrays, class Sizes, class Cell>
struct LaneSequence {
  using T = typename Arrays::Element;
  using Own = LaneSequenceLayout<T, Sizes, Cell>;
  using State = LaneState<T, Cell::has_cells>;
  const typename Own::Weights& weights;
  T* const staged;  // the warp's rows, twice
  const LaneUnit<Sizes>& own;
  const LaneElements<Own::copies> elements;
  const T* next_x;     // this lane's first element of the step that is read next
  std::int64_t place;  // this lane's unit of the step that is computed
  State state;
  LaneStarts<Arrays, State> starts;
  T ahead[2][Own::copies];

  __device__ LaneSequence(const Arrays& op, const typename Own::Weights& lane_weights, T* rows,
                          const LaneUnit<Sizes>& unit)
      : weights(lane_weights),
        staged(rows),
        own(unit),
        elements(Sizes::vertices, Cell::columns(op), op.inputs, Cell::template padded<Sizes>, Own::row) {}

  /// The row of this lane's vertex for steps of that parity.
  __device__ T* own_row(int parity) const { return staged + own.vertex * Own::row + parity * Own::rows; }
  /// Reads x of step t, which follows the step of the last call.
  __device__ void bring(const Arrays& op, int t, T* to) {
    if (t >= op.steps) return;
    elements.each(own.count * Cell::columns(op), [&](int j, int) { to[j] = next_x[j * warp_lanes]; });
    next_x += op.x_step;
  }
  /// Writes the values that a step of that parity reads to its rows.
  __device__ void stage(const Arrays& op, const T* x, int parity) {
    Cell::template stage_inputs<Sizes>(op, elements, x, staged + parity * Own::rows);
    if (!own.spare) own_row(parity)[Own::Row::h + own.unit] = state.h;
  }
  __device__ void begin(const Arrays& op) {
    for (int i = lane(); i < 2 * Own::rows; i += warp_lanes) staged[i] = T{0};
    next_x = op.x + own.first * Cell::columns(op) + lane();
    place = (own.first + own.vertex) * op.hidden + own.unit;
    starts.begin(op, own, place, state);
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
    if constexpr (Arrays::packed) {
      if (own.valid) state.put(op, place);
      starts.restart(op, own, t, state);
    }
    stage(op, ahead[parity], 1 - parity);
    bring(op, t + 3, ahead[parity]);
    __syncwarp();
    if constexpr (!Arrays::packed) {
      if (own.valid) state.put(op, place);
    }
    if (op.gates != nullptr && own.valid) {
      T* const to = op.gates + Cell::gates * place - (Cell::gates - 1) * own.unit;
      for (int g = 0; g < Cell::gates; ++g) to[g * op.hidden] = gate.of[g];
    }
    place += op.state_step;
  }
};

template <class Arrays, class Sizes, class Cell>
__global__ void __launch_bounds__(lane_sequence_threads,
                                  LaneSequenceLayout<typename Arrays::Element, Sizes, Cell>::resident)
    run_lanes_forward(Arrays op) {
  using T = typename Arrays::Element;
  using Own = LaneSequenceLayout<T, Sizes, Cell>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return Cell::template weight<Sizes>(op, k, u, g); });
  own.begin(grid_thread() / warp_lanes * Sizes::vertices, op.n, op.hidden);
  if (own.count <= 0) return;
  T* const rows = reinterpret_cast<T*>(shared + Own::Weights::shared_gates) + warp() * 2 * Own::rows;
  LaneSequence<Arrays, Sizes, Cell> sequence(op, weights, rows, own);
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
    with_packing(sequence_arrays<T>(op), op, [&](const auto& arrays) {
      using Arrays = std::remove_cvref_t<decltype(arrays)>;
      Cell::template with_sizes<T>(arrays.inputs, arrays.hidden, [&](auto sizes) {
        using Sizes = decltype(sizes);
        const std::int64_t blocks = divide_up(arrays.n, Sizes::vertices * lane_sequence_warps);
        launch(context, blocks, lane_sequence_threads, LaneSequenceLayout<T, Sizes, Cell>::bytes,
               run_lanes_forward<Arrays, Sizes, Cell>, arrays);
      });
    });
  });
}

}  // namespace strobe::cuda
