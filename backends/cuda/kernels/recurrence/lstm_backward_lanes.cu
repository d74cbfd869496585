// Backward of the LSTM of up to 8 units and 16 inputs through all steps in one launch: a lane has one unit of one
// vertex (LaneUnit), with the sums of its weights' gradients and, up to 12 inputs, the weights of its four gates in
// registers. Rows [x_t | h_{t-1}] are staged as in the forward kernel, a step ahead. A lane computes its gates again,
// also where the operation has them, and their gradients dz, writes dz times the weights of every input and state to a
// row of shared memory, and adds [x_t | h_{t-1} | 1] dz to its sums; the vertex's rows added up are dx_t, which the
// warp stores in storage order, and dh_{t-1}. All of it exists twice: one barrier of the warp a step. Once for all
// steps of a warp's vertices, the block adds its lanes' sums in order to its part in double; a second launch adds the
// parts.
// Cost: x, y, cells and dy once, dx once; for F = 8, H = 6 some 340 instructions a warp and step for 5 vertices, of
// which 168 are multiply-adds. Of scratch (F + h + 1) 4 h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"

namespace strobe::cuda {
namespace lstm_backward_lanes_kernels {

/// Device arrays and sizes; null where the operation has none.
template <class T>
struct Lstm {
  const T *x, *w_x, *w_h, *bias, *start, *y, *cells, *dy, *dlast;
  T *dx, *dstart;
  double* parts;
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, inputs, hidden;
  bool add_dx;
};

/// A warp's shared memory: for each of its vertices the units' products with the weights, a row for every lane, and
/// the staged [x_t | h_{t-1}]; behind them rows of the lanes that no vertex needs, which write as the others do.
template <class T, class Sizes>
struct Layout {
  static constexpr bool narrow = sizeof(T) == 4;
  static constexpr int warps = narrow ? 4 : 1, threads = warps * warp_lanes;
  // An odd number of vectors and then a multiple of 32 values: lanes that write rows of their own meet in no bank.
  static constexpr int product_row = ((Sizes::inputs + Sizes::hidden + 3) / 4 | 1) * 4;
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
};

/// What a lane reads of a step t: its elements of x_t, and of its unit h_{t-1}, c_{t-1} and dy_t.
template <class T, int J>
struct StepValues {
  T x[J], h, c, dy;

  __device__ void clear() {
    for (T& value : x) value = T{0};
    h = c = dy = T{0};
  }
};

/// A lane's share of a warp's vertices.
template <class T, class Sizes>
struct LaneSteps {
  using Own = Layout<T, Sizes>;
  const typename Own::Weights& weights;
  typename Own::Sums& sums;
  const LaneUnit<Sizes>& own;
  T* const memory;        // the warp's: rows of steps of one parity, then of the other
  T* const own_vertex;    // there
  T* const own_products;  // of this lane
  const LaneElements<Own::copies> elements;
  StepValues<T, Own::copies> ahead;
  const T* next_x;          // this lane's first element of the step that is read next
  std::int64_t next_state;  // that step's value of this lane's unit
  T* to_dx;                 // this lane's first element of the step that is computed
  T c, before, dy, dc;

  __device__ LaneSteps(const Lstm<T>& op, const typename Own::Weights& lane_weights, typename Own::Sums& lane_sums,
                       const LaneUnit<Sizes>& unit, T* shared)
      : weights(lane_weights),
        sums(lane_sums),
        own(unit),
        memory(shared),
        own_vertex(shared + own.vertex * Own::vertex),
        own_products(own.spare ? shared + Own::spare + own.unit * Own::product_row
                               : own_vertex + own.unit * Own::product_row),
        elements(Sizes::vertices, op.inputs, op.inputs, 0, Own::vertex) {}

  __device__ std::int64_t place(const Lstm<T>& op) const { return (own.first + own.vertex) * op.hidden + own.unit; }

  /// Reads step t, the one behind that of the last call.
  __device__ void bring(const Lstm<T>& op, int t) {
    if (t < 0) return;
    elements.each(own.count * op.inputs, [&](int j, int) { ahead.x[j] = next_x[j * warp_lanes]; });
    if (own.valid) ahead.dy = op.dy[next_state];
    if (t > 0) {
      if (own.valid) ahead.h = op.y[next_state - op.state_step];
      if (own.valid) ahead.c = op.cells[next_state - op.state_step];
    } else {
      const bool from = own.valid && op.start != nullptr;
      ahead.h = from ? op.start[next_state] : T{0};
      ahead.c = from ? op.start[op.state_step + next_state] : T{0};
    }
    next_x -= op.x_step;
    next_state -= op.state_step;
  }
  /// x_t and h_{t-1} to the rows of steps of that parity, the other values to this lane.
  __device__ void stage(const Lstm<T>& op, int parity) {
    T* const rows = memory + parity * Own::step + Own::staged;
    elements.each(Sizes::vertices * op.inputs, [&](int j, int at) { rows[at] = ahead.x[j]; });
    if (!own.spare) own_vertex[parity * Own::step + Own::staged + Sizes::inputs + own.unit] = ahead.h;
    before = ahead.c;
    dy = ahead.dy;
  }
  __device__ void begin(const Lstm<T>& op) {
    for (int i = lane(); i < 2 * Own::step; i += warp_lanes) memory[i] = T{0};
#pragma unroll
    for (int k = 0; k < Sizes::rows; ++k) sums[k].clear();
    ahead.clear();
    const std::int64_t last = (op.steps - 1) * op.x_step + own.first * op.inputs + lane();
    next_x = op.x + last;
    to_dx = op.dx == nullptr ? nullptr : op.dx + last;
    next_state = (op.steps - 1) * op.state_step + place(op);
    c = own.valid ? op.cells[next_state] : T{0};
    dc = own.valid && op.dlast != nullptr ? op.dlast[place(op)] : T{0};
    bring(op, op.steps - 1);
    __syncwarp();
    stage(op, 0);
    bring(op, op.steps - 2);
    __syncwarp();
  }
  /// dh of this lane's unit, from the products of a step: the gradient by way of the step behind it.
  __device__ T state_gradient(int parity) const {
    return added(own_vertex + parity * Own::step + Sizes::inputs + own.unit);
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
  /// Calls body(k, values) for each 4 of the staged [x_t | h_{t-1}]; weights of value i are in row k + i.
  template <class Body>
  __device__ static void over_inputs(const Lstm<T>& op, const Body& body) {
#pragma unroll
    for (int k = 0; k < Sizes::inputs; k += 4) {
      if (Sizes::skips && k >= op.inputs) break;
      body(k, std::integral_constant<int, 4>{});
    }
    body(Sizes::inputs, std::integral_constant<int, 4>{});
    body(Sizes::inputs + 4, std::integral_constant<int, Sizes::hidden - 4>{});
  }
  /// Computed again even where the operation has them: that is less than reading them.
  __device__ Gates<T> gates(const Lstm<T>& op, const Gates<T>* in) const {
    Gates<T> gate = weights[Sizes::inputs + Sizes::hidden];
    over_inputs(op, [&](int k, auto count) {
#pragma unroll
      for (int i = 0; i < count; ++i) gate.add(in[k / 4].of[i], weights[k + i]);
    });
    for (int g = 0; g < 4; ++g) gate.of[g] = g == 2 ? quick_squash_both(gate.of[g]) : quick_squash<1>(gate.of[g]);
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
  __device__ void put_input_gradient(const Lstm<T>& op, const T* rows) {
    T sum[Own::copies];
#pragma unroll
    for (int j = 0; j < Own::copies; ++j) sum[j] = added(rows + elements.at[j]);
    if (op.add_dx) {
      elements.each(own.count * op.inputs, [&](int j, int) { sum[j] += to_dx[j * warp_lanes]; });
    }
    elements.each(own.count * op.inputs, [&](int j, int) { to_dx[j * warp_lanes] = sum[j]; });
    to_dx -= op.x_step;
  }
  template <int parity>
  __device__ void step(const Lstm<T>& op, int t) {
    const T dh = state_gradient(1 - parity);
    Gates<T> in[Own::vectors];
    const auto* rows = reinterpret_cast<const Gates<T>*>(own_vertex + parity * Own::step + Own::staged);
    over_inputs(op, [&](int k, auto) { in[k / 4] = rows[k / 4]; });
    const Gates<T> dz = gate_gradients(gates(op, in), dh);
    auto* const to = reinterpret_cast<Gates<T>*>(own_products + parity * Own::step);
    over_inputs(op, [&](int k, auto count) {
      Gates<T> result;
      result.clear();
#pragma unroll
      for (int i = 0; i < count; ++i) {
        for (int g = 0; g < 4; ++g) result.of[i] += dz.of[g] * weights[k + i].of[g];
      }
      to[k / 4] = result;
    });
    over_inputs(op, [&](int k, auto count) {
#pragma unroll
      for (int i = 0; i < count; ++i) sums[k + i].add(in[k / 4].of[i], dz);
    });
    sums[Sizes::inputs + Sizes::hidden].add(T{1}, dz);
    stage(op, 1 - parity);
    bring(op, t - 2);
    __syncwarp();
    if (op.dx != nullptr) put_input_gradient(op, memory + parity * Own::step);
  }
  __device__ void put_start(const Lstm<T>& op) const {
    const T dh = state_gradient((op.steps - 1) % 2);
    if (!own.valid) return;
    op.dstart[next_state + op.state_step] = dh;  // a step before the first
    op.dstart[next_state + 2 * op.state_step] = dc;
  }
};

/// Where row k of x, h and the bias lies in a part.
template <class Sizes, class Op>
__device__ int part_place(const Op& op, int k, int u, int g) {
  const int h = k - Sizes::inputs;
  const bool there = u < op.hidden && (h < 0 ? k < op.inputs : h < op.hidden || h == Sizes::hidden);
  const int row = h < 0 ? k : op.inputs + (h == Sizes::hidden ? op.hidden : h);
  return there ? (row * 4 + g) * op.hidden + u : -1;
}

template <class T, class Sizes>
__global__ void __launch_bounds__(Layout<T, Sizes>::threads, Layout<T, Sizes>::resident) backward(Lstm<T> op) {
  using Own = Layout<T, Sizes>;
  LaneUnit<Sizes> own;
  Gates<T>* const shared = dynamic_shared<Gates<T>>();
  const typename Own::Weights weights(shared, own.unit,
                                      [&](int k, int u, int g) { return lstm_weight<Sizes>(op, k, u, g); });
  T* const memory = reinterpret_cast<T*>(shared + Own::Weights::shared_gates);
  T* const of_warp = memory + warp() * Own::of_warp;
  typename Own::Sums sums(reinterpret_cast<Gates<T>*>(of_warp + 2 * Own::step));
  LaneSteps<T, Sizes> lane_steps(op, weights, sums, own, of_warp);
  constexpr std::int64_t vertices = Sizes::vertices * Own::warps;
  double* const part = op.parts + blockIdx.x * std::int64_t{4} * op.hidden * (op.inputs + op.hidden + 1);
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

bool supports(const LstmSequenceBackward& op) {
  return op.x.columns() > 0 && op.x.columns() <= narrow_inputs && op.w_h.rows() <= narrow_hidden &&
         !op.x_right.defined() && !op.w_in.defined();
}

template <class T>
Lstm<T> arrays_of(const LstmSequenceBackward& op, double* parts) {
  return {op.x.data<T>(),
          op.w_x.data<T>(),
          op.w_h.data<T>(),
          op.bias.data<T>(),
          op.start.data<T>(),
          op.y.data<T>(),
          op.cells.data<T>(),
          op.dy.data<T>(),
          op.dlast.data<T>(),
          op.dx.data<T>(),
          op.dstart.data<T>(),
          parts,
          op.vertices(),
          op.vertices() * op.x.columns(),
          op.vertices() * op.w_h.rows(),
          static_cast<int>(op.steps),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w_h.rows()),
          op.accumulate_dx};
}

template <class T, class Sizes>
void run_sizes(const LstmSequenceBackward& op, const KernelContext& context) {
  using Own = Layout<T, Sizes>;
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts(divide_up(op.vertices(), Sizes::vertices * Own::warps), stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  launch(context, blocks, Own::threads, Own::bytes, backward<T, Sizes>, arrays_of<T>(op, parts));
  add_recurrent_parts<T>(context, op, parts, blocks);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    with_lane_sizes<T>(op.x.columns(), op.w_h.rows(), [&](auto sizes) { run_sizes<T, decltype(sizes)>(op, context); });
  });
}

const RegisterKernel<LstmSequenceBackward> lanes{Numerics::cuda, {"lanes", 2, supports, run}};

}  // namespace lstm_backward_lanes_kernels
}  // namespace strobe::cuda
