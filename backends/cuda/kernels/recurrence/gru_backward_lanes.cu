// Backward of the gated recurrent unit of up to 8 units and 16 inputs of a gate through all steps in one launch: a lane
// has one unit of one vertex (LaneUnit), with the sums of its weights' gradients and, up to 8 inputs, the weights in
// registers. Rows are staged as in the forward kernel, a step ahead. A lane computes its gates again, also where the
// operation has them (r h passes through the row), writes dz_n times the weights of h to a row of shared memory, of
// which the vertex's rows added up are the gradient of r h and give dz_r, adds [x_t | h_{t-1} | r h | 1] dz to its
// sums, and writes dz times the weights of every input and state: these rows added up are dx_t, which the warp stores
// in storage order, and the rest of dh_{t-1}. Three barriers of the warp a step. Once for all steps of a warp's
// vertices, the block adds its lanes' sums in order to its part in double; a second launch adds the parts.
// Cost: x, y and dy once, dx once; for 3 x 6 inputs and 6 units some 310 instructions a warp and step for 5 vertices.
// Of scratch 3 (F + h + 1) h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"

namespace strobe::cuda {
namespace gru_backward_lanes_kernels {

/// Device arrays and sizes; null where the operation has none. `own`: every gate has inputs of its own.
template <class T>
struct Gru {
  const T *x, *w_x, *w_h, *bias, *start, *y, *dy;
  T *dx, *dstart;
  double* parts;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, columns, inputs, hidden;
  bool own, add_dx;
};

/// A warp's shared memory: for each of its vertices the units' products with the weights, a row [x^r | x^z | x^n | h]
/// for every lane, and the staged row.
template <class T, class Sizes>
struct Layout : GruRow<Sizes> {
  static constexpr bool narrow = sizeof(T) == 4;
  static constexpr int warps = !narrow ? 1 : Sizes::inputs <= 8 ? 4 : 2, threads = warps * warp_lanes;
  // An odd number of vectors and then a multiple of 32 values: lanes that write rows of their own meet in no bank. In
  // fp64 there is no room for that.
  static constexpr int product_row = ((GruRow<Sizes>::h + Sizes::hidden + 3) / 4 | (narrow ? 1 : 0)) * 4;
  static constexpr int staged = Sizes::hidden * product_row;
  static constexpr int vertex = staged + (GruRow<Sizes>::values + warp_lanes - 1) / warp_lanes * warp_lanes;
  static constexpr int step = Sizes::vertices * vertex;
  static constexpr int copies = Sizes::copies(3 * Sizes::inputs);
  using Weights = UnitWeights<T, Sizes, narrow && Sizes::inputs <= 8>;
  using Sums = UnitSums<T, Sizes, narrow>;
  static constexpr int of_warp = 2 * step + Sums::shared_gates * 4;  // values; one step of even number, one of odd
  static constexpr std::size_t bytes = Weights::shared_gates * sizeof(Gates<T>) + warps * of_warp * sizeof(T);
  // Blocks on a multiprocessor, to bound registers: 12 warps where 168 of them are enough.
  static constexpr int resident = narrow && Sizes::inputs <= 6 ? 3 : narrow ? 8 / warps : 1;
  static_assert(2 * step >= flushed_rows * warp_lanes * 4 && bytes <= most_shared_bytes);
};

/// A lane's share of a warp's vertices.
template <class T, class Sizes>
struct LaneSteps {
  using Own = Layout<T, Sizes>;
  static constexpr int bias = Sizes::inputs + Sizes::hidden;
  const typename Own::Weights& weights;
  typename Own::Sums& sums;
  const LaneUnit<Sizes>& own;
  T* const memory;        // the warp's: rows of steps of one parity, then of the other
  T* const own_vertex;    // there
  T* const own_products;  // of this lane, there
  const LaneElements<Own::copies> elements;
  T x[Own::copies], h, dy;    // of the step ahead: its elements of x_t, and of its unit h_{t-1} and dy_t
  const T* next_x;            // this lane's first element of the step that is read next
  std::int64_t next_state;    // that step's value of this lane's unit
  T* to_dx;                   // this lane's first element of the step that is computed
  T before, dy_now, through;  // h_{t-1} and dy_t; what of dh does not come from products

  __device__ LaneSteps(const Gru<T>& op, const typename Own::Weights& lane_weights, typename Own::Sums& lane_sums,
                       const LaneUnit<Sizes>& unit, T* shared)
      : weights(lane_weights),
        sums(lane_sums),
        own(unit),
        memory(shared),
        own_vertex(shared + own.vertex * Own::vertex),
        own_products(own_vertex + own.unit * Own::product_row),
        elements(Sizes::vertices, op.columns, op.inputs, Sizes::inputs, Own::vertex) {}

  /// Reads step t, the one before that of the last call.
  __device__ void bring(const Gru<T>& op, int t) {
    if (t < 0) return;
    elements.each(own.count * op.columns, [&](int j, int) { x[j] = next_x[j * warp_lanes]; });
    if (own.valid) dy = op.dy[next_state];
    if (t > 0) {
      if (own.valid) h = op.y[next_state - op.state_step];
    } else {
      h = own.valid && op.start != nullptr ? op.start[next_state] : T{0};
    }
    next_x -= op.x_step;
    next_state -= op.state_step;
  }
  /// x_t and h_{t-1} to the rows of steps of that parity, and what the lane needs itself.
  __device__ void stage(const Gru<T>& op, int parity) {
    stage_gru_inputs<Sizes>(op, elements, x, memory + parity * Own::step + Own::staged);
    if (!own.spare) own_vertex[parity * Own::step + Own::staged + Own::h + own.unit] = h;
    before = h;
    dy_now = dy;
  }
  __device__ void begin(const Gru<T>& op) {
    for (int i = lane(); i < 2 * Own::step; i += warp_lanes) memory[i] = T{0};
#pragma unroll
    for (int k = 0; k < Sizes::rows; ++k) sums[k].clear();
    for (T& value : x) value = T{0};
    h = dy = through = T{0};
    const std::int64_t last = (op.steps - 1) * op.x_step + own.first * op.columns + lane();
    next_x = op.x + last;
    to_dx = op.dx == nullptr ? nullptr : op.dx + last;
    next_state = (op.steps - 1) * op.state_step + (own.first + own.vertex) * op.hidden + own.unit;
    bring(op, op.steps - 1);
    __syncwarp();
    stage(op, 0);
    bring(op, op.steps - 2);
    __syncwarp();
  }
  /// A column of the products of one vertex's units, added up.
  __device__ static T added(const T* from) {
    T even = from[0], odd = from[Own::product_row];
#pragma unroll
    for (int u = 2; u < Sizes::hidden; u += 2) {
      even += from[u * Own::product_row];
      odd += from[(u + 1) * Own::product_row];
    }
    return even + odd;
  }
  /// The products' sum for the state of this lane's unit.
  __device__ T state_products(int parity) const { return added(own_vertex + parity * Own::step + Own::h + own.unit); }
  /// Writes body(k) for every state k to this lane's row.
  template <class Body>
  __device__ void put_state_products(int parity, const Body& body) const {
    auto* const to = reinterpret_cast<Gates<T>*>(own_products + parity * Own::step + Own::h);
#pragma unroll
    for (int k = 0; k < Sizes::hidden; k += 4) {
      Gates<T> result;
#pragma unroll
      for (int i = 0; i < 4; ++i) result.of[i] = k + i < Sizes::hidden ? body(Sizes::inputs + k + i) : T{0};
      if (!own.spare) to[k / 4] = result;
    }
  }
  /// The same for every input of every gate.
  __device__ void put_input_products(const Gru<T>& op, int parity, const Gates<T>& dz) const {
    auto* const to = reinterpret_cast<Gates<T>*>(own_products + parity * Own::step);
#pragma unroll
    for (int k = 0; k < 3 * Sizes::inputs; k += 4) {
      if (Sizes::skips && k % Sizes::inputs >= op.inputs) continue;
      Gates<T> result;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int g = (k + i) / Sizes::inputs, f = (k + i) % Sizes::inputs;
        result.of[i] = g < 3 ? dz.of[g] * weights[f].of[g] : T{0};
      }
      if (!own.spare) to[k / 4] = result;
    }
  }
  __device__ void add_weight_gradients(const Gru<T>& op, const Gates<T>* row, const Gates<T>& dz) {
    over_gru_inputs<Sizes>(op, row, [&](int g, int f, T value) { sums[f].of[g] += value * dz.of[g]; });
    over_staged<Sizes::hidden, Own::h>(row, [&](int k, T value) {
      for (int g = 0; g < 2; ++g) sums[Sizes::inputs + k].of[g] += value * dz.of[g];
    });
    over_staged<Sizes::hidden, Own::reset>(row,
                                           [&](int k, T value) { sums[Sizes::inputs + k].of[2] += value * dz.of[2]; });
    for (int g = 0; g < 3; ++g) sums[bias].of[g] += dz.of[g];
  }
  __device__ void put_input_gradient(const Gru<T>& op, const T* rows) {
    T sum[Own::copies];
#pragma unroll
    for (int j = 0; j < Own::copies; ++j) {
      const T* from = rows + elements.at[j];
      sum[j] = added(from);
      if (!op.own) sum[j] += added(from + Sizes::inputs) + added(from + 2 * Sizes::inputs);
    }
    if (op.add_dx) {
      elements.each(own.count * op.columns, [&](int j, int) { sum[j] += to_dx[j * warp_lanes]; });
    }
    elements.each(own.count * op.columns, [&](int j, int) { to_dx[j * warp_lanes] = sum[j]; });
    to_dx -= op.x_step;
  }
  template <int parity>
  __device__ void step(const Gru<T>& op, int t) {
    T* const values = own_vertex + parity * Own::step + Own::staged;
    const auto* row = reinterpret_cast<const Gates<T>*>(values);
    const T dh = through + state_products(1 - parity) + dy_now;
    Gates<T> gate = first_gru_gates<Sizes>(op, row, weights), dz;
    if (!own.spare) values[Own::reset + own.unit] = gate.of[0] * before;
    __syncwarp();
    add_gru_reset<Sizes>(row, weights, gate);
    dz.of[1] = dh * (before - gate.of[2]) * gate.of[1] * (T{1} - gate.of[1]);
    dz.of[2] = dh * (T{1} - gate.of[1]) * (T{1} - gate.of[2] * gate.of[2]);
    // In the rows of the step behind, which nobody reads any more: since the barrier above.
    put_state_products(1 - parity, [&](int k) { return dz.of[2] * weights[k].of[2]; });
    __syncwarp();
    const T reset = state_products(1 - parity);
    dz.of[0] = reset * before * gate.of[0] * (T{1} - gate.of[0]);
    through = dh * gate.of[1] + reset * gate.of[0];
    put_state_products(parity, [&](int k) { return dz.of[0] * weights[k].of[0] + dz.of[1] * weights[k].of[1]; });
    if (op.dx != nullptr) put_input_products(op, parity, dz);
    add_weight_gradients(op, row, dz);
    stage(op, 1 - parity);
    bring(op, t - 2);
    __syncwarp();
    if (op.dx != nullptr) put_input_gradient(op, memory + parity * Own::step);
  }
  __device__ void put_start(const Gru<T>& op) const {
    const T dh = through + state_products((op.steps - 1) % 2);
    if (own.valid) op.dstart[next_state + op.state_step] = dh;  // a step before the first
  }
};

/// Where row k of gate g's weights lies in a part, or negative.
template <class Sizes, class Op>
__device__ int part_place(const Op& op, int k, int u, int g) {
  const int h = k - Sizes::inputs;
  const bool of_bias = h == Sizes::hidden;
  const bool there = g < 3 && u < op.hidden && (h < 0 ? k < op.inputs : of_bias || h < op.hidden);
  const int row = h < 0     ? g * op.inputs + k
                  : of_bias ? 3 * (op.inputs + op.hidden) + g
                            : 3 * op.inputs + g * op.hidden + h;
  return there ? row * op.hidden + u : -1;
}

template <class T, class Sizes>
__global__ void __launch_bounds__(Layout<T, Sizes>::threads, Layout<T, Sizes>::resident) backward(Gru<T> op) {
  using Own = Layout<T, Sizes>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return gru_weight<Sizes>(op, k, u, g); });
  T* const memory = reinterpret_cast<T*>(shared + Own::Weights::shared_gates);
  T* const of_warp = memory + warp() * Own::of_warp;
  typename Own::Sums sums(reinterpret_cast<Gates<T>*>(of_warp + 2 * Own::step));
  LaneSteps<T, Sizes> lane_steps(op, weights, sums, own, of_warp);
  constexpr std::int64_t vertices = Sizes::vertices * Own::warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{3} * op.hidden * (op.inputs + op.hidden + 1);
  for (std::int64_t tile = blockIdx.x; tile * vertices < op.n; tile += gridDim.x) {
    own.begin(tile * vertices + warp() * Sizes::vertices, op.n, op.hidden);
    lane_steps.begin(op);
    for (int t = op.steps - 1; t >= 0 && own.count > 0; t -= 2) {
      lane_steps.template step<0>(op, t);
      if (t > 0) lane_steps.template step<1>(op, t - 1);
    }
    if (op.dstart != nullptr) lane_steps.put_start(op);
    flush_sums<Sizes>(sums, memory, Own::of_warp, part, tile == blockIdx.x,
                      [&](int k, int u, int g) { return part_place<Sizes>(op, k, u, g); });
  }
}

bool supports(const GruSequenceBackward& op) {
  return op.x.columns() > 0 && op.w_x.rows() / 3 <= narrow_inputs && op.w_h.columns() <= narrow_hidden;
}

template <class T>
Gru<T> arrays_of(const GruSequenceBackward& op, double* parts) {
  return {op.x.data<T>(),
          op.w_x.data<T>(),
          op.w_h.data<T>(),
          op.bias.data<T>(),
          op.start.data<T>(),
          op.y.data<T>(),
          op.dy.data<T>(),
          op.dx.data<T>(),
          op.dstart.data<T>(),
          parts,
          op.vertices(),
          op.vertices() * op.x.columns(),
          op.vertices() * op.w_h.columns(),
          static_cast<int>(op.steps),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w_x.rows() / 3),
          static_cast<int>(op.w_h.columns()),
          op.x.columns() == op.w_x.rows(),
          op.accumulate_dx};
}

template <class T, class Sizes>
void run_sizes(const GruSequenceBackward& op, const KernelContext& context) {
  using Own = Layout<T, Sizes>;
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), Sizes::vertices * Own::warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  launch(context, blocks, Own::threads, Own::bytes, backward<T, Sizes>, arrays_of<T>(op, parts));
  add_recurrent_parts<T>(context, op, parts, blocks);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    // In fp64 rows of two vertices a warp are what shared memory holds.
    constexpr int vertices = sizeof(T) == 8 ? 2 : warp_lanes / narrow_hidden;
    with_gru_sizes<T, LaneSizes<narrow_inputs, narrow_hidden, vertices>>(
        op.w_x.rows() / 3, op.w_h.columns(), [&](auto sizes) { run_sizes<T, decltype(sizes)>(op, context); });
  });
}

const RegisterKernel<GruSequenceBackward> lanes{Numerics::cuda, {"lanes", 2, supports, run}};

}  // namespace gru_backward_lanes_kernels
}  // namespace strobe::cuda
