// Gated recurrent unit of up to 8 units and 16 inputs of a gate over all steps in one launch: a lane has one unit of
// one vertex (LaneUnit). A warp copies x_t in storage order, two steps ahead, into registers and from there to its
// staged rows [x^r | x^z | x^n | h | r h], which exist twice; inputs that all gates share are staged three times. Two
// barriers of the warp a step: one before r h is read, one before the next step. Cost: the compulsory bytes - x and y
// once - in transfers of whole sectors; for 3 x 6 inputs and 6 units some 110 instructions a warp and step for 5
// vertices, of which 36 are multiply-adds, and 6 special functions. No scratch.
#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"

namespace strobe::cuda {
namespace gru_lanes_kernels {

constexpr int threads = 64, warps = threads / warp_lanes;

/// Device arrays and sizes; null where the operation has none. `own`: every gate has inputs of its own.
template <class T>
struct Gru {
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *gates;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, columns, inputs, hidden;
  bool own;
};

template <class T, class Sizes>
struct Layout : GruRow<Sizes> {
  static constexpr int rows = Sizes::vertices * GruRow<Sizes>::values;
  static constexpr int copies = Sizes::copies(3 * Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, sizeof(T) == 4>;
  static constexpr std::size_t bytes = Weights::shared_gates * sizeof(Gates<T>) + warps * 2 * rows * sizeof(T);
  // Blocks on a multiprocessor, to bound registers to 80, 96 or 168.
  static constexpr int resident = Sizes::inputs <= 6 ? 12 : Sizes::inputs <= 8 ? 10 : 6;
};

/// A lane's share of a warp's vertices.
template <class T, class Sizes>
struct LaneSteps {
  using Own = Layout<T, Sizes>;
  const typename Own::Weights& weights;
  T* const staged;      // the warp's rows, twice
  T* const own_vertex;  // there
  const LaneUnit<Sizes>& own;
  const LaneElements<Own::copies> elements;
  const T* next_x;     // this lane's first element of the step that is read next
  std::int64_t state;  // this lane's unit of the step that is computed
  T h, ahead[2][Own::copies];

  __device__ LaneSteps(const Gru<T>& op, const typename Own::Weights& lane_weights, T* rows,
                       const LaneUnit<Sizes>& unit)
      : weights(lane_weights),
        staged(rows),
        own_vertex(rows + unit.vertex * Own::values),
        own(unit),
        elements(Sizes::vertices, op.columns, op.inputs, Sizes::inputs, Own::values) {}

  /// Reads x of step t, the one behind that of the last call.
  __device__ void bring(const Gru<T>& op, int t, T* to) {
    if (t >= op.steps) return;
    elements.each(own.count * op.columns, [&](int j, int) { to[j] = next_x[j * warp_lanes]; });
    next_x += op.x_step;
  }
  /// What a step of that parity reads to its rows.
  __device__ void stage(const Gru<T>& op, const T* x, int parity) {
    stage_gru_inputs<Sizes>(op, elements, x, staged + parity * Own::rows);
    if (!own.spare) own_vertex[parity * Own::rows + Own::h + own.unit] = h;
  }
  __device__ void begin(const Gru<T>& op) {
    for (int i = lane(); i < 2 * Own::rows; i += warp_lanes) staged[i] = T{0};
    next_x = op.x + own.first * op.columns + lane();
    state = (own.first + own.vertex) * op.hidden + own.unit;
    h = own.valid && op.start != nullptr ? op.start[state] : T{0};
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
  __device__ void step(const Gru<T>& op, int t) {
    T* const row = own_vertex + parity * Own::rows;
    Gates<T> gate = first_gru_gates<Sizes>(op, reinterpret_cast<const Gates<T>*>(row), weights);
    if (!own.spare) row[Own::reset + own.unit] = gate.of[0] * h;
    __syncwarp();
    add_gru_reset<Sizes>(reinterpret_cast<const Gates<T>*>(row), weights, gate);
    h = gate.of[1] * h + (T{1} - gate.of[1]) * gate.of[2];
    stage(op, ahead[parity], 1 - parity);
    bring(op, t + 3, ahead[parity]);
    __syncwarp();
    if (own.valid) op.y[state] = h;
    if (op.gates != nullptr && own.valid) {
      T* const to = op.gates + 3 * state - 2 * own.unit;
      for (int g = 0; g < 3; ++g) to[g * op.hidden] = gate.of[g];
    }
    state += op.state_step;
  }
};

template <class T, class Sizes>
__global__ void __launch_bounds__(threads, Layout<T, Sizes>::resident) forward(Gru<T> op) {
  using Own = Layout<T, Sizes>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return gru_weight<Sizes>(op, k, u, g); });
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

bool supports(const GruSequence& op) {
  return op.x.columns() > 0 && op.w_x.rows() / 3 <= narrow_inputs && op.w_h.columns() <= narrow_hidden;
}

void run(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = static_cast<int>(op.w_x.rows() / 3), hidden = static_cast<int>(op.w_h.columns());
    const auto columns = static_cast<int>(op.x.columns());
    const Gru<T> arrays{op.x.data<T>(),
                        op.w_x.data<T>(),
                        op.w_h.data<T>(),
                        op.bias.data<T>(),
                        op.start.data<T>(),
                        op.y.data<T>(),
                        op.gates.data<T>(),
                        op.vertices(),
                        op.vertices() * columns,
                        op.vertices() * hidden,
                        static_cast<int>(op.steps),
                        columns,
                        inputs,
                        hidden,
                        columns == 3 * inputs};
    with_gru_sizes<T, LaneSizes<narrow_inputs, narrow_hidden>>(inputs, hidden, [&](auto sizes) {
      using Sizes = decltype(sizes);
      const std::int64_t blocks = divide_up(arrays.n, Sizes::vertices * warps);
      launch(context, blocks, threads, Layout<T, Sizes>::bytes, forward<T, Sizes>, arrays);
    });
  });
}

const RegisterKernel<GruSequence> lanes{Numerics::cuda, {"lanes", 2, supports, run}};

}  // namespace gru_lanes_kernels
}  // namespace strobe::cuda
