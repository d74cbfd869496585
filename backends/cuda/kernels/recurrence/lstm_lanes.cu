// LSTM of up to 8 units and 16 inputs over all steps in one launch: a lane has one unit of one vertex (LaneUnit), so
// that 16384 vertices of 6 units are 3277 warps. A warp copies x_t in storage order, two steps ahead, into registers
// and from there to its staged rows [x_t | h_{t-1}], which exist twice: one barrier of the warp a step. Every lane
// reads its vertex's row in vectors of 4 values that all lanes of the vertex share. Cost: the compulsory bytes - x, y
// and cells once - in transfers of whole sectors; for F = 8, H = 6 some 110 instructions a warp and step for 5
// vertices, of which 56 are multiply-adds, and 10 special functions. No scratch; 2 V (F + 8) values of shared memory a
// warp, V = 5 vertices.
#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"

namespace strobe::cuda {
namespace lstm_lanes_kernels {

constexpr int threads = 64, warps = threads / warp_lanes;

/// Device arrays and sizes; null where the operation has none.
template <class T>
struct Lstm {
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *cells, *gates;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, inputs, hidden;
};

template <class T, class Sizes>
struct Layout {
  static constexpr int row = Sizes::inputs + Sizes::state, rows = Sizes::vertices * row;
  static constexpr int copies = Sizes::copies(Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, sizeof(T) == 4>;
  static constexpr std::size_t bytes = Weights::shared_gates * sizeof(Gates<T>) + warps * 2 * rows * sizeof(T);
  // Blocks on a multiprocessor, to bound registers to 96, 128 or 168.
  static constexpr int resident = Sizes::inputs <= 8 ? 10 : Sizes::inputs <= 12 ? 8 : 6;
};

/// A lane's share of a warp's vertices.
template <class T, class Sizes>
struct LaneSteps {
  using Own = Layout<T, Sizes>;
  const typename Own::Weights& weights;
  T* const staged;  // the warp's rows, twice
  const LaneUnit<Sizes>& own;
  const LaneElements<Own::copies> elements;
  const T* next_x;     // this lane's first element of the step that is read next
  std::int64_t state;  // this lane's unit of the step that is computed
  T h, c, ahead[2][Own::copies];

  __device__ LaneSteps(const Lstm<T>& op, const typename Own::Weights& lane_weights, T* rows,
                       const LaneUnit<Sizes>& unit)
      : weights(lane_weights), staged(rows), own(unit), elements(Sizes::vertices, op.inputs, op.inputs, 0, Own::row) {}

  /// Reads x of step t, the one behind that of the last call.
  __device__ void bring(const Lstm<T>& op, int t, T* to) {
    if (t >= op.steps) return;
    elements.each(own.count * op.inputs, [&](int j, int) { to[j] = next_x[j * warp_lanes]; });
    next_x += op.x_step;
  }
  /// What step t reads to its rows.
  __device__ void stage(const Lstm<T>& op, const T* x, T* rows) const {
    elements.each(Sizes::vertices * op.inputs, [&](int j, int at) { rows[at] = x[j]; });
    if (!own.spare) rows[own.vertex * Own::row + Sizes::inputs + own.unit] = h;
  }
  __device__ void begin(const Lstm<T>& op) {
    for (int i = lane(); i < 2 * Own::rows; i += warp_lanes) staged[i] = T{0};
    next_x = op.x + own.first * op.inputs + lane();
    state = (own.first + own.vertex) * op.hidden + own.unit;
    const bool from = own.valid && op.start != nullptr;
    h = from ? op.start[state] : T{0};
    c = from ? op.start[op.state_step + state] : T{0};
    T first[Own::copies] = {};
    for (auto& values : ahead) {
      for (T& value : values) value = T{0};
    }
    bring(op, 0, first);
    bring(op, 1, ahead[0]);
    bring(op, 2, ahead[1]);
    __syncwarp();
    stage(op, first, staged);
    __syncwarp();
  }
  __device__ Gates<T> gates(const Lstm<T>& op, const T* rows) const {
    const auto* in = reinterpret_cast<const Gates<T>*>(rows + own.vertex * Own::row);
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
    for (int g = 0; g < 4; ++g) sum.of[g] = g == 2 ? quick_squash_both(sum.of[g]) : quick_squash<1>(sum.of[g]);
    return sum;
  }
  template <int parity>
  __device__ void step(const Lstm<T>& op, int t) {
    const Gates<T> gate = gates(op, staged + parity * Own::rows);
    c = gate.of[1] * c + gate.of[0] * gate.of[2];
    h = gate.of[3] * quick_squash_both(c);
    stage(op, ahead[parity], staged + (1 - parity) * Own::rows);
    bring(op, t + 3, ahead[parity]);
    __syncwarp();
    if (own.valid) op.y[state] = h;
    if (own.valid) op.cells[state] = c;
    if (op.gates != nullptr && own.valid) {
      T* const to = op.gates + 4 * state - 3 * own.unit;
      for (int g = 0; g < 4; ++g) to[g * op.hidden] = gate.of[g];
    }
    state += op.state_step;
  }
};

template <class T, class Sizes>
__global__ void __launch_bounds__(threads, Layout<T, Sizes>::resident) forward(Lstm<T> op) {
  using Own = Layout<T, Sizes>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return lstm_weight<Sizes>(op, k, u, g); });
  own.begin(grid_thread() / warp_lanes * Sizes::vertices, op.n, op.hidden);
  if (own.count <= 0) return;
  T* const rows = reinterpret_cast<T*>(shared + Own::Weights::shared_gates) + warp() * 2 * Own::rows;
  LaneSteps<T, Sizes> lane_steps(op, weights, rows, own);
  lane_steps.begin(op);
  for (int t = 0; t < op.steps; t += 2) {
    lane_steps.template step<0>(op, t);
    if (t + 1 < op.steps) lane_steps.template step<1>(op, t + 1);
  }
}

bool supports(const LstmSequence& op) {
  return op.x.columns() > 0 && op.x.columns() <= narrow_inputs && op.w_h.rows() <= narrow_hidden &&
         !op.x_right.defined() && !op.w_in.defined();
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = static_cast<int>(op.x.columns()), hidden = static_cast<int>(op.w_h.rows());
    const Lstm<T> arrays{op.x.data<T>(),
                         op.w_x.data<T>(),
                         op.w_h.data<T>(),
                         op.bias.data<T>(),
                         op.start.data<T>(),
                         op.y.data<T>(),
                         op.cells.data<T>(),
                         op.gates.data<T>(),
                         op.vertices(),
                         op.vertices() * inputs,
                         op.vertices() * hidden,
                         static_cast<int>(op.steps),
                         inputs,
                         hidden};
    with_lane_sizes<T>(inputs, hidden, [&](auto sizes) {
      using Sizes = decltype(sizes);
      const std::int64_t blocks = divide_up(arrays.n, Sizes::vertices * warps);
      launch(context, blocks, threads, Layout<T, Sizes>::bytes, forward<T, Sizes>, arrays);
    });
  });
}

const RegisterKernel<LstmSequence> lanes{Numerics::cuda, {"lanes", 2, supports, run}};

}  // namespace lstm_lanes_kernels
}  // namespace strobe::cuda
