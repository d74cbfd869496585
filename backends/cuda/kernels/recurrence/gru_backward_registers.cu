// Backward of the gated recurrent unit through all steps of a tile of vertices in one launch, hidden widths 16 and 32.
// The gradient of h stays in registers; x_t, h_{t-1}, r h and the gates' gradients of the tile's vertices lie in shared
// memory beside the weights. Weight gradients: every thread has fixed elements, adds up the tile's vertices step by
// step in registers and adds that to the block's part in double once a tile; a second launch adds the parts in order.
// Cost: x, y and dy once, dx once; of scratch 3 (F + h + 1) h doubles for each of at most 1024 blocks.
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_tiles.hpp"

namespace strobe::cuda {
namespace gru_backward_registers_kernels {

/// Device arrays and sizes; null where the operation has none. Gate g reads x[own g, own g + inputs). Staged rows:
/// x | h_{t-1} | r h | 1, `stage` values apart.
template <class T>
struct Gru {
  const T *x, *w_x, *w_h, *bias, *start, *y, *gates, *dy;
  T *dx, *dstart;
  double* parts;
  std::int64_t n, steps;
  int columns, inputs, own, stage;
  bool add_dx;
};

inline int stage_values(std::int64_t columns, int hidden) { return (static_cast<int>(columns) + 2 * hidden + 1) | 1; }

template <int H>
std::size_t shared_values(std::int64_t inputs, std::int64_t columns, int threads) {
  using Lanes = HiddenLanes<H>;
  const std::int64_t weights = (inputs + H + 1) * Lanes::weight_row * 4;
  const std::int64_t staged = threads / Lanes::lanes * (stage_values(columns, H) + 4 * Lanes::gradient_row);
  return static_cast<std::size_t>(weights + staged);
}

/// The largest block whose tile fits into shared memory and whose threads can hold all sums; 0 for none.
template <int H>
int threads_for(const GruSequenceBackward& op) {
  const std::int64_t inputs = op.w_x.rows() / 3;
  for (int threads = 128; threads >= warp_lanes; threads /= 2) {
    if (shared_values<H>(inputs, op.x.columns(), threads) * element_bytes(op.y.type()) > most_shared_bytes) continue;
    return (inputs + H + 1) * H <= threads * most_items<H> ? threads : 0;
  }
  return 0;
}

/// A lane's share of a tile: vertex `own` of its warp, whose vertices begin at `first` and are `count` (0 when the tile
/// ends before the warp).
template <class T, int H>
struct LaneTile {
  using Lanes = HiddenLanes<H>;
  const Gates<T>* weights;
  T* in;         // the warp's staged rows
  Gates<T>* dz;  // the warp's gradients of gates r, z, n
  RowWalk inputs, states;
  int own = lane() / Lanes::lanes, part = lane() % Lanes::lanes;
  std::int64_t first = 0;
  int count = 0;
  T dh[Lanes::units];
  Gates<T> gates[Lanes::units];

  __device__ LaneTile(const Gru<T>& op, const Gates<T>* shared_weights, T* rows, Gates<T>* gradients)
      : weights(shared_weights),
        in(rows + warp() * Lanes::vertices * op.stage),
        dz(gradients + warp() * Lanes::vertices * Lanes::gradient_row),
        inputs(op.columns),
        states(H) {}

  __device__ int unit(int i) const { return part + Lanes::lanes * i; }
  __device__ bool valid() const { return own < count; }
  __device__ T* row_of(const Gru<T>& op) const { return in + own * op.stage; }

  __device__ void begin(const Gru<T>& op, std::int64_t tile_first) {
    first = tile_first + warp() * Lanes::vertices;
    const std::int64_t left = op.n - first;
    count = left < 0 ? 0 : left < Lanes::vertices ? static_cast<int>(left) : Lanes::vertices;
    if (lane() < Lanes::vertices) in[lane() * op.stage + op.columns + 2 * H] = T{1};
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) dh[i] = T{0};
  }
  /// Brings x_t and h_{t-1} to shared memory.
  __device__ void stage_inputs(const Gru<T>& op, std::int64_t t) {
    stage_rows(inputs, op.x + (t * op.n + first) * op.columns, count, in, op.stage);
    const T* before = t > 0 ? op.y + ((t - 1) * op.n + first) * H : op.start + (op.start == nullptr ? 0 : first * H);
    if (before != nullptr) {
      stage_rows(states, before, count, in + op.columns, op.stage);
    } else {
      states.over(count, [&](int, int r, int k) { in[r * op.stage + op.columns + k] = T{0}; });
    }
    __syncwarp();
  }
  /// Gates [begin, end) of unit i before activation, from x and the H values at `state`.
  __device__ void sum_gates(const Gru<T>& op, int i, int begin, int end, const T* state) {
    const Gates<T>* w = weights + unit(i);
    for (int g = begin; g < end; ++g) {
      T sum = w[(op.inputs + H) * Lanes::weight_row].of[g];
      for (int f = 0; f < op.inputs; ++f) sum += row_of(op)[g * op.own + f] * w[f * Lanes::weight_row].of[g];
      for (int k = 0; k < H; ++k) sum += state[k] * w[(op.inputs + k) * Lanes::weight_row].of[g];
      gates[i].of[g] = g == 2 ? squash_both(sum) : squash(sum);
    }
  }
  /// This lane's gates, read or computed again, and r h in the staged rows.
  __device__ void bring_gates(const Gru<T>& op, std::int64_t t) {
    const std::int64_t row = t * op.n + first + own;
    T* const staged = row_of(op) + op.columns;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      if (valid() && op.gates != nullptr) {
        for (int g = 0; g < 3; ++g) gates[i].of[g] = op.gates[(row * 3 + g) * H + unit(i)];
      } else if (valid()) {
        sum_gates(op, i, 0, 2, staged);
      }
      if (valid()) staged[H + unit(i)] = gates[i].of[0] * staged[unit(i)];
    }
    __syncwarp();
    if (op.gates != nullptr || !valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) sum_gates(op, i, 2, 3, staged + H);
  }
  /// Gradients of gates z and n; leaves in dh what the update gate lets through to h_{t-1}.
  __device__ void update_back(const Gru<T>& op, std::int64_t t) {
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      const int u = unit(i);
      const T z = gates[i].of[1], fresh = gates[i].of[2], h = row_of(op)[op.columns + u];
      const T d = dh[i] + op.dy[(t * op.n + first + own) * H + u];
      Gates<T>& to = dz[own * Lanes::gradient_row + u];
      to.of[1] = d * (h - fresh) * z * (T{1} - z);
      to.of[2] = d * (T{1} - z) * (T{1} - fresh * fresh);
      to.of[3] = T{0};
      dh[i] = d * z;
    }
  }
  /// Gate g's gradients times row k of its weights.
  __device__ T through(int k, int g) const {
    T sum{0};
#pragma unroll 8
    for (int u = 0; u < H; ++u) {
      sum += dz[own * Lanes::gradient_row + u].of[g] * weights[k * Lanes::weight_row + u].of[g];
    }
    return sum;
  }
  /// Gradient of gate r, and what comes to h_{t-1} by way of r h.
  __device__ void reset_back(const Gru<T>& op) {
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      const T d = through(op.inputs + unit(i), 2), r = gates[i].of[0], h = row_of(op)[op.columns + unit(i)];
      dz[own * Lanes::gradient_row + unit(i)].of[0] = d * h * r * (T{1} - r);
      dh[i] += d * r;
    }
  }
  __device__ void states_back(const Gru<T>& op) {
    if (!valid()) return;
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      dh[i] += through(op.inputs + unit(i), 0) + through(op.inputs + unit(i), 1);
    }
  }
  /// dx by way of the staged rows of x, which nobody needs any more.
  __device__ void inputs_back(const Gru<T>& op, std::int64_t t) {
    for (int c = part; c < op.columns && valid(); c += Lanes::lanes) {
      row_of(op)[c] =
          op.own > 0 ? through(c % op.inputs, c / op.inputs) : through(c, 0) + through(c, 1) + through(c, 2);
    }
    __syncwarp();
    put_rows(inputs, in, op.stage, count, op.dx + (t * op.n + first) * op.columns, op.add_dx);
    __syncwarp();
  }
};

/// The value that row k of gate g's weights is multiplied with, in a staged row.
template <class T, int H>
struct StagedInput {
  const T* in;
  int columns, inputs, own, stage;

  __device__ T operator()(int v, int k, int g) const {
    const int column = k < inputs ? g * own + k : k == inputs + H ? columns + 2 * H : columns + k - inputs;
    if (g == 3) return T{0};
    return in[v * stage + column + (g == 2 && k >= inputs && k < inputs + H ? H : 0)];
  }
};

template <class T, int H>
__device__ void step_back(const Gru<T>& op, LaneTile<T, H>& tile, std::int64_t t) {
  tile.stage_inputs(op, t);
  tile.bring_gates(op, t);
  tile.update_back(op, t);
  __syncwarp();
  tile.reset_back(op);
  __syncwarp();
  tile.states_back(op);
}

template <class T, int H>
__global__ void __launch_bounds__(128) backward(Gru<T> op) {
  using Lanes = HiddenLanes<H>;
  Gates<T>* const weights = dynamic_shared<Gates<T>>();
  Gates<T>* const dz = weights + (op.inputs + H + 1) * Lanes::weight_row;
  const int vertices = static_cast<int>(blockDim.x) / Lanes::lanes;
  T* const in = reinterpret_cast<T*>(dz + vertices * Lanes::gradient_row);
  bring_gru_weights<H>(op, weights);
  LaneTile<T, H> tile(op, weights, in, dz);
  WeightSums<T, H, most_items<H>> sums((op.inputs + H + 1) * H);
  sums.clear();
  __syncthreads();
  const std::int64_t apart = gridDim.x * std::int64_t{vertices}, inputs = op.inputs;
  for (std::int64_t first = blockIdx.x * std::int64_t{vertices}; first < op.n; first += apart) {
    const std::int64_t left = op.n - first;
    const int count = left < vertices ? static_cast<int>(left) : vertices;
    tile.begin(op, first);
    for (std::int64_t t = op.steps - 1; t >= 0; --t) {
      step_back(op, tile, t);
      __syncthreads();
      sums.add(dz, count, StagedInput<T, H>{in, op.columns, op.inputs, op.own, op.stage});
      __syncthreads();
      if (op.dx != nullptr) tile.inputs_back(op, t);
    }
#pragma unroll
    for (int i = 0; i < Lanes::units; ++i) {
      if (op.dstart != nullptr && tile.valid()) op.dstart[(tile.first + tile.own) * H + tile.unit(i)] = tile.dh[i];
    }
    sums.flush(op.parts, 3 * H * (inputs + H + 1), first < apart,
               [&](int k, int u, int g) { return g == 3 ? -1 : gru_row<H>(op.inputs, k, g) * H + u; });
  }
}

bool supports(const GruSequenceBackward& op) {
  return op.x.columns() > 0 && with_hidden(op.w_h.columns(), [&](auto hidden) { return threads_for<hidden>(op) > 0; });
}

template <class T, int H>
void run_width(const GruSequenceBackward& op, const KernelContext& context) {
  const std::int64_t n = op.vertices(), inputs = op.w_x.rows() / 3, columns = op.x.columns();
  const std::int64_t stride = recurrent_stride(op);
  const int threads = threads_for<H>(op), vertices = threads / HiddenLanes<H>::lanes;
  const std::int64_t blocks = blocks_with_parts((n + vertices - 1) / vertices, stride);
  if (blocks == 0) return;
  auto* const parts = reinterpret_cast<double*>(context.scratch(scratch_part(blocks * stride, sizeof(double))));
  const Gru<T> arrays{op.x.data<T>(),
                      op.w_x.data<T>(),
                      op.w_h.data<T>(),
                      op.bias.data<T>(),
                      op.start.data<T>(),
                      op.y.data<T>(),
                      op.gates.data<T>(),
                      op.dy.data<T>(),
                      op.dx.data<T>(),
                      op.dstart.data<T>(),
                      parts,
                      n,
                      op.steps,
                      static_cast<int>(columns),
                      static_cast<int>(inputs),
                      columns == 3 * inputs ? static_cast<int>(inputs) : 0,
                      stage_values(columns, H),
                      op.accumulate_dx};
  launch(context, blocks, threads, shared_values<H>(inputs, columns, threads) * sizeof(T), backward<T, H>, arrays);
  add_recurrent_parts<T>(context, op, parts, blocks);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_hidden(op.w_h.columns(), [&](auto hidden) {
      run_width<decltype(zero), hidden>(op, context);
      return true;
    });
  });
}

const RegisterKernel<GruSequenceBackward> registers{Numerics::cuda, {"registers", 1, supports, run}};

}  // namespace gru_backward_registers_kernels
}  // namespace strobe::cuda
