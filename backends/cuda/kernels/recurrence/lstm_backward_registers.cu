// Backward of the LSTM through all steps of a tile of vertices in one launch, hidden widths 16 and 32. The gradients of
// h and c stay in registers; x_t, h_{t-1} and the gates' gradients of the tile's vertices lie in shared memory beside
// the weights. Weight gradients: every thread has fixed elements, adds up the tile's vertices step by step in registers
// and adds that to the block's part in double once a tile; a second launch adds the parts in order. Cost: x, y, cells
// and dy once, dx once; of scratch (F + h + 1) 4 h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_tiles.hpp"

namespace strobe::cuda {
namespace lstm_backward_registers_kernels {

/// Device arrays and sizes; null where the operation has none. Staged rows: x | h_{t-1} | 1, `stage` values apart.
template <class T>
struct Lstm {
  const T *x, *w_x, *w_h, *bias, *start, *y, *cells, *gates, *dy, *dlast;
  T *dx, *dstart;
  double* parts;
  std::int64_t n, steps;
  int inputs, stage;
  bool add_dx;
};

inline int stage_values(std::int64_t inputs, int hidden) { return (static_cast<int>(inputs) + hidden + 1) | 1; }

template <int H>
std::size_t shared_values(std::int64_t inputs, int threads) {
  using Lanes = HiddenLanes<H>;
  const std::int64_t weights = (inputs + H + 1) * Lanes::weight_row * 4;
  const std::int64_t staged = threads / Lanes::lanes * (stage_values(inputs, H) + 4 * Lanes::gradient_row);
  return static_cast<std::size_t>(weights + staged);
}

/// The largest block whose tile fits into shared memory and whose threads can hold all sums; 0 for none.
template <int H>
int threads_for(std::int64_t inputs, std::size_t element) {
  for (int threads = 128; threads >= warp_lanes; threads /= 2) {
    if (shared_values<H>(inputs, threads) * element > most_shared_bytes) continue;
    return (inputs + H + 1) * H <= threads * most_items<H> ? threads : 0;
  }
  return 0;
}

/// A lane's share of a tile: vertex `own` of its warp, whose vertices begin at `first` and are `count` (at most 0 when
/// the tile ends before the warp).
template <class T, int H>
struct LaneTile {
  using Lanes = HiddenLanes<H>;
  const Gates<T>* weights;
  T* in;         // the warp's staged rows
  Gates<T>* dz;  // the warp's gradients of gates
  RowWalk inputs, states;
  int own = lane() / Lanes::lanes, part = lane() % Lanes::lanes;
  std::int64_t first = 0;
  int count = 0;
  T dh[Lanes::units], dc[Lanes::units], c[Lanes::units];

  __device__ LaneTile(const Lstm<T>& op, const Gates<T>* shared_weights, T* rows, Gates<T>* gradients)
      : weights(shared_weights),
        in(rows + warp() * Lanes::vertices * op.stage),
        dz(gradients + warp() * Lanes::vertices * Lanes::gradient_row),
        inputs(op.inputs),
        states(H) {}

  __device__ static int unit(int part, int i) { return part + Lanes::lanes * i; }
  __device__ bool valid() const { return own < count; }

  __device__ void begin(const Lstm<T>& op, std::int64_t tile_first) {
    first = tile_first + warp() * Lanes::vertices;
    const std::int64_t left = op.n - first;
    count = left < 0 ? 0 : left < Lanes::vertices ? static_cast<int>(left) : Lanes::vertices;
    if (lane() < Lanes::vertices) in[lane() * op.stage + op.inputs + H] = T{1};
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      dh[i] = T{0};
      dc[i] = op.dlast != nullptr && valid() ? op.dlast[(first + own) * H + unit(part, i)] : T{0};
      c[i] = valid() ? op.cells[((op.steps - 1) * op.n + first + own) * H + unit(part, i)] : T{0};
    }
  }
  /// Brings x_t and h_{t-1} to shared memory.
  __device__ void stage_inputs(const Lstm<T>& op, std::int64_t t) {
    stage_rows(inputs, op.x + (t * op.n + first) * op.inputs, count, in, op.stage);
    const T* before = t > 0 ? op.y + ((t - 1) * op.n + first) * H : op.start + (op.start == nullptr ? 0 : first * H);
    if (before != nullptr) {
      stage_rows(states, before, count, in + op.inputs, op.stage);
    } else {
      states.over(count, [&](int, int r, int k) { in[r * op.stage + op.inputs + k] = T{0}; });
    }
    __syncwarp();
  }
  /// Activated gates of unit u, read or computed again.
  __device__ Gates<T> gates_of(const Lstm<T>& op, std::int64_t row, int u) const {
    Gates<T> gate;
    if (op.gates != nullptr) {
      for (int g = 0; g < 4; ++g) gate.of[g] = op.gates[(row * 4 + g) * H + u];
      return gate;
    }
    gate = weights[(op.inputs + H) * Lanes::weight_row + u];
    for (int k = 0; k < op.inputs + H; ++k) gate.add(in[own * op.stage + k], weights[k * Lanes::weight_row + u]);
    for (int g = 0; g < 4; ++g) gate.of[g] = g == 2 ? squash_both(gate.of[g]) : squash(gate.of[g]);
    return gate;
  }
  __device__ T cell_before(const Lstm<T>& op, std::int64_t t, int u) const {
    if (t > 0) return op.cells[((t - 1) * op.n + first + own) * H + u];
    return op.start == nullptr ? T{0} : op.start[(op.n + first + own) * H + u];
  }
  /// Gradients of this lane's gates; leaves the gradient of c_{t-1} in dc.
  __device__ void gate_gradients(const Lstm<T>& op, std::int64_t t) {
    const std::int64_t row = t * op.n + first + own;
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      const int u = unit(part, i);
      const Gates<T> gate = gates_of(op, row, u);
      const T before = cell_before(op, t, u), squashed = squash_both(c[i]), d = dh[i] + op.dy[row * H + u];
      const T dcell = dc[i] + d * gate.of[3] * (T{1} - squashed * squashed);
      Gates<T> result;
      result.of[0] = dcell * gate.of[2] * gate.of[0] * (T{1} - gate.of[0]);
      result.of[1] = dcell * before * gate.of[1] * (T{1} - gate.of[1]);
      result.of[2] = dcell * gate.of[0] * (T{1} - gate.of[2] * gate.of[2]);
      result.of[3] = d * squashed * gate.of[3] * (T{1} - gate.of[3]);
      dz[own * Lanes::gradient_row + u] = result;
      dc[i] = dcell * gate.of[1];
      c[i] = before;
    }
  }
  /// The vertex's gradients times row k of the weights.
  __device__ T through(int k) const {
    T sum{0};
#pragma unroll 8
    for (int u = 0; u < H; ++u) {
      sum += dz[own * Lanes::gradient_row + u].dot(weights[k * Lanes::weight_row + u]);
    }
    return sum;
  }
  __device__ void states_back(const Lstm<T>& op) {
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) dh[i] = through(op.inputs + unit(part, i));
  }
  /// dx by way of the staged rows of x, which nobody needs any more.
  __device__ void inputs_back(const Lstm<T>& op, std::int64_t t) {
    for (int f = part; f < op.inputs && valid(); f += Lanes::lanes) in[own * op.stage + f] = through(f);
    __syncwarp();
    put_rows(inputs, in, op.stage, count, op.dx + (t * op.n + first) * op.inputs, op.add_dx);
    __syncwarp();
  }
  __device__ void put_start(const Lstm<T>& op) const {
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      op.dstart[(first + own) * H + unit(part, i)] = dh[i];
      op.dstart[(op.n + first + own) * H + unit(part, i)] = dc[i];
    }
  }
};

template <class T, int H>
__global__ void __launch_bounds__(128) backward(Lstm<T> op) {
  using Lanes = HiddenLanes<H>;
  Gates<T>* const weights = dynamic_shared<Gates<T>>();
  Gates<T>* const dz = weights + (op.inputs + H + 1) * Lanes::weight_row;
  const int vertices = static_cast<int>(blockDim.x) / Lanes::lanes;
  T* const in = reinterpret_cast<T*>(dz + vertices * Lanes::gradient_row);
  bring_lstm_weights<H>(op, weights);
  LaneTile<T, H> tile(op, weights, in, dz);
  WeightSums<T, H, most_items<H>> sums((op.inputs + H + 1) * H);
  sums.clear();
  __syncthreads();
  for (std::int64_t first = blockIdx.x * std::int64_t{vertices}; first < op.n;
       first += gridDim.x * std::int64_t{vertices}) {
    const std::int64_t left = op.n - first;
    const int count = left < vertices ? static_cast<int>(left) : vertices;
    tile.begin(op, first);
    for (std::int64_t t = op.steps - 1; t >= 0; --t) {
      tile.stage_inputs(op, t);
      tile.gate_gradients(op, t);
      __syncthreads();
      sums.add(dz, count, [&](int v, int k, int) { return in[v * op.stage + k]; });
      tile.states_back(op);
      __syncthreads();
      if (op.dx != nullptr) tile.inputs_back(op, t);
    }
    if (op.dstart != nullptr) tile.put_start(op);
    sums.flush(op.parts, std::int64_t{4} * H * (op.inputs + H + 1), first < gridDim.x * std::int64_t{vertices},
               [](int k, int u, int g) { return (k * 4 + g) * H + u; });
  }
}

bool supports(const LstmSequenceBackward& op) {
  return !op.x_right.defined() && !op.w_in.defined() && with_hidden(op.w_h.rows(), [&](auto hidden) {
    return threads_for<hidden>(op.x.columns(), element_bytes(op.y.type())) > 0;
  });
}

template <class T, int H>
void run_width(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t n = op.vertices(), inputs = op.x.columns(), stride = recurrent_stride(op);
  const int threads = threads_for<H>(inputs, sizeof(T)), vertices = threads / HiddenLanes<H>::lanes;
  const std::int64_t blocks = blocks_with_parts((n + vertices - 1) / vertices, stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  const Lstm<T> arrays{op.x.data<T>(),
                       op.w_x.data<T>(),
                       op.w_h.data<T>(),
                       op.bias.data<T>(),
                       op.start.data<T>(),
                       op.y.data<T>(),
                       op.cells.data<T>(),
                       op.gates.data<T>(),
                       op.dy.data<T>(),
                       op.dlast.data<T>(),
                       op.dx.data<T>(),
                       op.dstart.data<T>(),
                       parts,
                       n,
                       op.steps,
                       static_cast<int>(inputs),
                       stage_values(inputs, H),
                       op.accumulate_dx};
  launch(context, blocks, threads, shared_values<H>(inputs, threads) * sizeof(T), backward<T, H>, arrays);
  add_recurrent_parts<T>(context, op, parts, blocks);
}

void run(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_hidden(op.w_h.rows(), [&](auto hidden) {
      run_width<decltype(zero), hidden>(op, context);
      return true;
    });
  });
}

const RegisterKernel<LstmSequenceBackward> registers{Numerics::cuda, {"registers", 1, supports, run}};

}  // namespace lstm_backward_registers_kernels
}  // namespace strobe::cuda
