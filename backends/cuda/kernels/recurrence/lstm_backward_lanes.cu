// Backward of the LSTM of up to 8 units and 16 inputs through all steps in one launch: a lane has one unit of one
// vertex (LaneUnit), with the sums of its weights' gradients and, up to 12 inputs, the weights of its four gates in
// registers. Rows [x_t | h_{t-1}] are staged as in the forward kernel, a step ahead. A lane computes its gates again,
// also where the operation has them, and their gradients dz, writes dz times the weights of every input and state to a
// row of shared memory, and adds [x_t | h_{t-1} | 1] dz to its sums; the vertex's rows added up are dx_t, which the
// warp stores in storage order, and dh_{t-1}. All of it exists twice: one barrier of the warp a step. Once for all
// steps of a warp's vertices, the block adds its lanes' sums in order to its part in double; a second launch adds the
// parts.
// Cost: x, y, cells and dy once, dx once; for F = 8, H = 6 some 340 instructions a warp and step for 5 vertices, 168 of
// them multiply-adds. Scratch: (F + h + 1) 4 h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/lane_sequence_backward.hpp"

namespace strobe::cuda {
namespace lstm_backward_lanes_kernels {

/// A warp's shared memory: for each of its vertices the units' products with the weights, a row for every lane, and
/// the staged [x_t | h_{t-1}]; after them rows of the lanes that no vertex needs, which write in the same way.
template <class T, class Sizes>
struct LstmLayout {
  using Row = LstmRow<Sizes>;
  static constexpr bool narrow = sizeof(T) == 4;
  static constexpr int warps = narrow ? 4 : 1, threads = warps * warp_lanes, units = Sizes::hidden;
  // An odd number of vectors and then a multiple of 32 values: lanes that write rows of their own meet in no bank.
  static constexpr int product_row = ((Sizes::inputs + Sizes::hidden + 3) / 4 | 1) * 4, state_product = Sizes::inputs;
  static constexpr int staged = Sizes::hidden * product_row, vertex = staged + warp_lanes;
  static constexpr int spare = Sizes::vertices * vertex;
  static constexpr int step = spare + (warp_lanes - Sizes::vertices * Sizes::hidden) * product_row;
  static constexpr int vectors = (Sizes::inputs + Sizes::state) / 4;
  static constexpr int copies = Sizes::copies(Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, narrow && Sizes::inputs <= 12>;
  using Sums = UnitSums<T, Sizes, narrow>;
  static constexpr int of_warp = 2 * step + Sums::shared_gates * 4;  // values; one step of even number, one of odd
  static constexpr std::size_t bytes = Weights::shared_gates * sizeof(Gates<T>) + warps * of_warp * sizeof(T);
  // Blocks on a multiprocessor, to bound registers: 12 warps where 168 of them are enough.
  static constexpr int resident = narrow && Sizes::inputs <= 8 ? 3 : narrow ? 2 : 1;
  static_assert(vectors * 4 <= warp_lanes && 2 * step >= flushed_rows * warp_lanes * 4 && bytes <= most_shared_bytes);

  __device__ static T* products_of(const LaneUnit<Sizes>& own, T* shared) {
    return own.spare ? shared + spare + own.unit * product_row : shared + own.vertex * vertex + own.unit * product_row;
  }
};

/// Calls body(k, values) for each 4 of the staged [x_t | h_{t-1}]; weights of value i are in row k + i.
template <class Sizes, class Arrays, class Body>
__device__ void over_inputs(const Arrays& op, const Body& body) {
#pragma unroll
  for (int k = 0; k < Sizes::inputs; k += 4) {
    if (Sizes::skips && k >= op.inputs) break;
    body(k, std::integral_constant<int, 4>{});
  }
  body(Sizes::inputs, std::integral_constant<int, 4>{});
  body(Sizes::inputs + 4, std::integral_constant<int, Sizes::hidden - 4>{});
}

/// h_{t-1}, c_{t-1} and dy_t. Packed sequences also have c_t, if the following step does not give it, and dlast's share
/// of its gradient.
template <class T>
struct LstmValues {
  T h, c, dy;
  T cell, last;

  __device__ void clear() { h = c = dy = cell = last = T{0}; }
  __device__ void bring(const SequenceGradientArrays<T>& op, std::int64_t place, bool valid, int t) {
    if (valid) dy = op.dy[place];
    if (t > 0) {
      if (valid) h = op.y[place - op.state_step];
      if (valid) c = op.cells[place - op.state_step];
    } else {
      const bool from = valid && op.start != nullptr;
      h = from ? op.start[place] : T{0};
      c = from ? op.start[op.state_step + place] : T{0};
    }
  }
  template <class Arrays>
  __device__ void bring(const Arrays& op, std::int64_t place, int unit, const LaneOrigins<Arrays>& origins) {
    dy = op.dy[place];
    if (origins.own != goes_on) cell = op.cells[place];
    last = origins.end < 0 ? T{0} : op.dlast[std::int64_t{origins.end} * op.hidden + unit];
    h = c = T{0};
    if (origins.next == goes_on) {
      h = op.y[place - op.state_step];
      c = op.cells[place - op.state_step];
    } else if (origins.next >= 0) {
      const T* const start = op.start + std::int64_t{origins.next} * op.hidden + unit;
      h = start[0];
      c = start[op.start_states()];
    }
  }
};

template <class T, class Sizes>
struct LstmLane {
  using Own = LstmLayout<T, Sizes>;
  using Arrays = SequenceGradientArrays<T>;
  T c, before, dy, dc;

  __device__ void begin(const auto& op, bool valid, std::int64_t place, std::int64_t at) {
    c = valid ? op.cells[at] : T{0};
    bool of_last = op.dlast != nullptr;
    if constexpr (std::remove_cvref_t<decltype(op)>::packed) of_last = of_last && op.ends == nullptr;
    dc = valid && of_last ? op.dlast[place] : T{0};
  }
  __device__ void take(const LstmValues<T>& values) {
    before = values.c;
    dy = values.dy;
  }
  /// When the following step belongs to another sequence, neither dc nor c is the value that it left.
  __device__ void restart(const auto& op, const LstmValues<T>& values, const auto& of) {
    dc = of.leave(op, dc, op.start_states()) + values.last;
    if (of.origins.behind != goes_on) c = values.cell;
  }
  /// Computed again even where the operation has them: that is less than reading them.
  template <class Weights>
  __device__ Gates<T> gates(const Arrays& op, const Gates<T>* in, const Weights& weights) const {
    Gates<T> gate = weights[Sizes::inputs + Sizes::hidden];
    over_inputs<Sizes>(op, [&](int k, auto count) {
#pragma unroll
      for (int i = 0; i < count; ++i) gate.add(in[k / 4].of[i], weights[k + i]);
    });
    activate_lstm(gate);
    return gate;
  }
  /// Gradients of this lane's gates; c and dc become those of c_{t-1}.
  __device__ Gates<T> gate_gradients(const Gates<T>& gate, T dh) {
    const T squashed = quick_squash_both(c), d = dh + dy, dcell = dc + d * gate.of[3] * (T{1} - squashed * squashed);
    Gates<T> result;
    result.of[0] = dcell * gate.of[2] * gate.of[0] * (T{1} - gate.of[0]);
    result.of[1] = dcell * before * gate.of[1] * (T{1} - gate.of[1]);
    result.of[2] = dcell * gate.of[0] * (T{1} - gate.of[2] * gate.of[2]);
    result.of[3] = d * squashed * gate.of[3] * (T{1} - gate.of[3]);
    dc = dcell * gate.of[1];
    c = before;
    return result;
  }
  template <int parity, class Sequence>
  __device__ void differentiate(const auto& op, Sequence& of) {
    const T dh = of.leave(op, of.state_products(1 - parity), 0);
    Gates<T> in[Own::vectors];
    const auto* rows = reinterpret_cast<const Gates<T>*>(of.staged(parity));
    over_inputs<Sizes>(op, [&](int k, auto) { in[k / 4] = rows[k / 4]; });
    const Gates<T> dz = gate_gradients(gates(op, in, of.weights), dh);
    auto* const to = reinterpret_cast<Gates<T>*>(of.own_products + parity * Own::step);
    over_inputs<Sizes>(op, [&](int k, auto count) {
      Gates<T> result;
      result.clear();
#pragma unroll
      for (int i = 0; i < count; ++i) {
        for (int g = 0; g < 4; ++g) result.of[i] += dz.of[g] * of.weights[k + i].of[g];
      }
      to[k / 4] = result;
    });
    over_inputs<Sizes>(op, [&](int k, auto count) {
#pragma unroll
      for (int i = 0; i < count; ++i) of.sums[k + i].add(in[k / 4].of[i], dz);
    });
    of.sums[Sizes::inputs + Sizes::hidden].add(T{1}, dz);
  }
  template <class Sequence>
  __device__ void put_start(const auto& op, const Sequence& of) const {
    const T dh = of.state_products((op.steps - 1) % 2);
    if constexpr (std::remove_cvref_t<decltype(op)>::packed) {
      of.leave(op, dh, 0);  // dc has left behind the last step
      return;
    }
    if (!of.own.valid) return;
    op.dstart[of.next_state + op.state_step] = dh;  // a step before the first
    op.dstart[of.next_state + 2 * op.state_step] = dc;
  }
};

struct Cell : LstmLanes {
  template <class T, class Sizes>
  using Layout = LstmLayout<T, Sizes>;
  template <class T>
  using Values = LstmValues<T>;
  template <class T, class Sizes>
  using Lane = LstmLane<T, Sizes>;

  template <class Own, class T, class Arrays>
  __device__ static T added_inputs(const Arrays&, const T* rows) {
    return added_products<Own>(rows);
  }
  /// Where row k of x, h and the bias lies in a part.
  template <class Sizes, class Arrays>
  __device__ static int part_place(const Arrays& op, int k, int u, int g) {
    const int h = k - Sizes::inputs;
    const bool there = u < op.hidden && (h < 0 ? k < op.inputs : h < op.hidden || h == Sizes::hidden);
    const int row = h < 0 ? k : op.inputs + (h == Sizes::hidden ? op.hidden : h);
    return there ? (row * 4 + g) * op.hidden + u : -1;
  }
};

const RegisterKernel<LstmSequenceBackward> lanes{
    "cuda", {"lanes", 2, Cell::serves<LstmSequenceBackward>, run_lane_sequence_backward<Cell, LstmSequenceBackward>}};

}  // namespace lstm_backward_lanes_kernels
}  // namespace strobe::cuda
