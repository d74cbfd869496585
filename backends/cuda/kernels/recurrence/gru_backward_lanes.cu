// Backward of the gated recurrent unit of up to 8 units and 16 inputs of a gate through all steps in one launch: a lane
// has one unit of one vertex (LaneUnit), with the sums of its weights' gradients and, up to 8 inputs, the weights in
// registers. Rows are staged as in the forward kernel, a step ahead. A lane computes its gates again, also where the
// operation has them (r h passes through the row). It writes dz_n times the weights of h to a row of shared memory; the
// sum of the vertex's rows is the gradient of r h and gives dz_r. It adds [x_t | h_{t-1} | r h | 1] dz to its sums, and
// writes dz times the weights of every input and state. The sums of these rows are dx_t, which the warp stores in
// storage order, and the rest of dh_{t-1}. Three barriers of the warp a step. Once for all steps of a warp's
// vertices, the block adds its lanes' sums in order to its part in double; a second launch adds the parts.
// Cost: x, y and dy once, dx once; for 3 x 6 inputs and 6 units some 310 instructions a warp and step for 5 vertices.
// Scratch: 3 (F + h + 1) h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/lane_sequence_backward.hpp"

namespace strobe::cuda {
namespace gru_backward_lanes_kernels {

/// A warp's shared memory: for each of its vertices the units' products with the weights, a row [x^r | x^z | x^n | h]
/// for every lane, and the staged row.
template <class T, class Sizes>
struct GruLayout {
  using Row = GruRow<Sizes>;
  static constexpr bool narrow = sizeof(T) == 4;
  static constexpr int warps = !narrow ? 1 : Sizes::inputs <= 8 ? 4 : 2, threads = warps * warp_lanes;
  static constexpr int units = Sizes::hidden, inputs = Sizes::inputs;
  // An odd number of vectors and then a multiple of 32 values: lanes that write rows of their own meet in no bank. In
  // fp64 there is no room for that.
  static constexpr int product_row = ((Row::h + Sizes::hidden + 3) / 4 | (narrow ? 1 : 0)) * 4, state_product = Row::h;
  static constexpr int staged = Sizes::hidden * product_row;
  static constexpr int vertex = staged + (Row::values + warp_lanes - 1) / warp_lanes * warp_lanes;
  static constexpr int step = Sizes::vertices * vertex;
  static constexpr int copies = Sizes::copies(3 * Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, narrow && Sizes::inputs <= 8>;
  using Sums = UnitSums<T, Sizes, narrow>;
  static constexpr int of_warp = 2 * step + Sums::shared_gates * 4;  // values; one step of even number, one of odd
  static constexpr std::size_t bytes = Weights::shared_gates * sizeof(Gates<T>) + warps * of_warp * sizeof(T);
  // Blocks on a multiprocessor, to bound registers: 12 warps where 168 of them are enough.
  static constexpr int resident = narrow && Sizes::inputs <= 6 ? 3 : narrow ? 8 / warps : 1;
  static_assert(2 * step >= flushed_rows * warp_lanes * 4 && bytes <= most_shared_bytes);

  __device__ static T* products_of(const LaneUnit<Sizes>& own, T* shared) {
    return shared + own.vertex * vertex + own.unit * product_row;
  }
};

/// h_{t-1} and dy_t.
template <class T>
struct GruValues {
  T h, dy;

  __device__ void clear() { h = dy = T{0}; }
  __device__ void bring(const SequenceGradientArrays<T>& op, std::int64_t place, bool valid, int t) {
    if (valid) dy = op.dy[place];
    if (t > 0) {
      if (valid) h = op.y[place - op.state_step];
    } else {
      h = valid && op.start != nullptr ? op.start[place] : T{0};
    }
  }
  template <class Arrays>
  __device__ void bring(const Arrays& op, std::int64_t place, int unit, const LaneOrigins<Arrays>& origins) {
    dy = op.dy[place];
    h = T{0};
    if (origins.next == goes_on) h = op.y[place - op.state_step];
    if (origins.next >= 0) h = op.start[std::int64_t{origins.next} * op.hidden + unit];
  }
};

template <class T, class Sizes>
struct GruLane {
  using Own = GruLayout<T, Sizes>;
  using Row = GruRow<Sizes>;
  using Arrays = SequenceGradientArrays<T>;
  static constexpr int bias = Sizes::inputs + Sizes::hidden;
  T before, dy, through;  // what of dh does not come from products

  __device__ void begin(const Arrays&, bool, std::int64_t, std::int64_t) { through = T{0}; }
  __device__ void take(const GruValues<T>& values) {
    before = values.h;
    dy = values.dy;
  }
  __device__ void restart(const auto&, const GruValues<T>&, const auto&) {}
  /// Writes body(k) for every state k to the lane's row.
  template <class Sequence, class Body>
  __device__ static void put_state_products(const Sequence& of, int parity, const Body& body) {
    auto* const to = reinterpret_cast<Gates<T>*>(of.own_products + parity * Own::step + Row::h);
#pragma unroll
    for (int k = 0; k < Sizes::hidden; k += 4) {
      Gates<T> result;
#pragma unroll
      for (int i = 0; i < 4; ++i) result.of[i] = k + i < Sizes::hidden ? body(Sizes::inputs + k + i) : T{0};
      if (!of.own.spare) to[k / 4] = result;
    }
  }
  /// The same for every input of every gate.
  template <class Sequence>
  __device__ static void put_input_products(const Arrays& op, const Sequence& of, int parity, const Gates<T>& dz) {
    auto* const to = reinterpret_cast<Gates<T>*>(of.own_products + parity * Own::step);
#pragma unroll
    for (int k = 0; k < 3 * Sizes::inputs; k += 4) {
      if (Sizes::skips && k % Sizes::inputs >= op.inputs) continue;
      Gates<T> result;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int g = (k + i) / Sizes::inputs, f = (k + i) % Sizes::inputs;
        result.of[i] = g < 3 ? dz.of[g] * of.weights[f].of[g] : T{0};
      }
      if (!of.own.spare) to[k / 4] = result;
    }
  }
  template <class Sums>
  __device__ static void add_weight_gradients(const Arrays& op, const Gates<T>* row, const Gates<T>& dz, Sums& sums) {
    over_gru_inputs<Sizes>(op, row, [&](int g, int f, T value) { sums[f].of[g] += value * dz.of[g]; });
    over_staged<Sizes::hidden, Row::h>(row, [&](int k, T value) {
      for (int g = 0; g < 2; ++g) sums[Sizes::inputs + k].of[g] += value * dz.of[g];
    });
    over_staged<Sizes::hidden, Row::reset>(row,
                                           [&](int k, T value) { sums[Sizes::inputs + k].of[2] += value * dz.of[2]; });
    for (int g = 0; g < 3; ++g) sums[bias].of[g] += dz.of[g];
  }
  template <int parity, class Sequence>
  __device__ void differentiate(const auto& op, Sequence& of) {
    T* const values = of.staged(parity);
    const auto* row = reinterpret_cast<const Gates<T>*>(values);
    const auto& weights = of.weights;
    const T dh = of.leave(op, through + of.state_products(1 - parity), 0) + dy;
    Gates<T> gate = first_gru_gates<Sizes>(op, row, weights), dz;
    if (!of.own.spare) values[Row::reset + of.own.unit] = gate.of[0] * before;
    __syncwarp();
    add_gru_reset<Sizes>(row, weights, gate);
    dz.of[1] = dh * (before - gate.of[2]) * gate.of[1] * (T{1} - gate.of[1]);
    dz.of[2] = dh * (T{1} - gate.of[1]) * (T{1} - gate.of[2] * gate.of[2]);
    // Overwrites the rows of the following step; nobody reads them after the barrier above.
    put_state_products(of, 1 - parity, [&](int k) { return dz.of[2] * weights[k].of[2]; });
    __syncwarp();
    const T reset = of.state_products(1 - parity);
    dz.of[0] = reset * before * gate.of[0] * (T{1} - gate.of[0]);
    through = dh * gate.of[1] + reset * gate.of[0];
    put_state_products(of, parity, [&](int k) { return dz.of[0] * weights[k].of[0] + dz.of[1] * weights[k].of[1]; });
    if (op.dx != nullptr) put_input_products(op, of, parity, dz);
    add_weight_gradients(op, row, dz, of.sums);
  }
  template <class Sequence>
  __device__ void put_start(const auto& op, const Sequence& of) const {
    const T dh = through + of.state_products((op.steps - 1) % 2);
    if constexpr (std::remove_cvref_t<decltype(op)>::packed) {
      of.leave(op, dh, 0);
    } else {
      if (of.own.valid) op.dstart[of.next_state + op.state_step] = dh;  // a step before the first
    }
  }
};

struct Cell : GruLanes {
  template <class T, class Sizes>
  using Layout = GruLayout<T, Sizes>;
  template <class T>
  using Values = GruValues<T>;
  template <class T, class Sizes>
  using Lane = GruLane<T, Sizes>;

  template <class Own, class T, class Arrays>
  __device__ static T added_inputs(const Arrays& op, const T* rows) {
    constexpr int inputs = Own::inputs;
    T sum = added_products<Own>(rows);
    if (!op.own_inputs()) sum += added_products<Own>(rows + inputs) + added_products<Own>(rows + 2 * inputs);
    return sum;
  }
  /// Where row k of gate g's weights lies in a part, or negative.
  template <class Sizes, class Arrays>
  __device__ static int part_place(const Arrays& op, int k, int u, int g) {
    const int h = k - Sizes::inputs;
    const bool of_bias = h == Sizes::hidden;
    const bool there = g < 3 && u < op.hidden && (h < 0 ? k < op.inputs : of_bias || h < op.hidden);
    const int row = h < 0     ? g * op.inputs + k
                    : of_bias ? 3 * (op.inputs + op.hidden) + g
                              : 3 * op.inputs + g * op.hidden + h;
    return there ? row * op.hidden + u : -1;
  }
  template <class T, class Body>
  static void with_sizes(std::int64_t inputs, std::int64_t hidden, const Body& body) {
    // In fp64 rows of two vertices a warp are what shared memory holds.
    constexpr int vertices = sizeof(T) == 8 ? 2 : warp_lanes / narrow_hidden;
    with_sizes_up_to<T, LaneSizes<narrow_inputs, narrow_hidden, vertices>>(inputs, hidden, body);
  }
};

const RegisterKernel<GruSequenceBackward> lanes{
    "cuda", {"lanes", 2, Cell::serves<GruSequenceBackward>, run_lane_sequence_backward<Cell, GruSequenceBackward>}};

}  // namespace gru_backward_lanes_kernels
}  // namespace strobe::cuda
