// LSTM over all steps of a tile of vertices in one launch, hidden widths 16 and 32. A warp takes 8 or 4 vertices
// through all steps on its own: h and c stay in registers, the weights in shared memory, x_t comes in and h_t and c_t
// go out by way of the warp's staging rows. Cost: the compulsory bytes - x, y and cells once, the weights once a block
// of at most 2048 - in transfers of whole sectors; kept gates are written in rows of their own.
#include "backends/cuda/kernels/recurrence/recurrent_tiles.hpp"

namespace strobe::cuda {
namespace lstm_registers_kernels {

constexpr int threads = 128;
constexpr std::int64_t most_blocks = 2048;

/// Device arrays and sizes; null where the operation has none.
template <class T>
struct Lstm {
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *cells, *gates;
  std::int64_t n, steps;
  int inputs, stage;  // stage: values between staged rows of x
};

template <int H>
std::size_t shared_values(std::int64_t inputs) {
  using Lanes = HiddenLanes<H>;
  const std::int64_t weights = (inputs + H + 1) * Lanes::weight_row * 4;
  const std::int64_t staged = threads / Lanes::lanes * ((inputs | 1) + 2 * Lanes::row);
  return static_cast<std::size_t>(weights + staged);
}

/// The state of a lane, and its warp's staging rows.
template <class T, int H>
struct WarpTile {
  using Lanes = HiddenLanes<H>;
  const Gates<T>* weights;
  T *x, *h_row, *c_row;
  RowWalk inputs, states;
  int own = lane() / Lanes::lanes, part = lane() % Lanes::lanes;
  T h[H], c[Lanes::units];

  __device__ WarpTile(const Lstm<T>& op, const Gates<T>* shared_weights, T* stage)
      : weights(shared_weights),
        x(stage),
        h_row(x + Lanes::vertices * op.stage),
        c_row(h_row + Lanes::vertices * Lanes::row),
        inputs(op.inputs),
        states(H) {}

  __device__ void begin(const Lstm<T>& op, std::int64_t first, int count) {
    const bool from = op.start != nullptr && own < count;
    const T* start = op.start + (from ? (first + own) * H : 0);
    for (int k = 0; k < H; ++k) h[k] = from ? start[k] : T{0};
    for (int i = 0; i < Lanes::units; ++i) c[i] = from ? start[op.n * H + part + Lanes::lanes * i] : T{0};
  }
  /// Activated gates of this lane's unit i from `sum`; new c, and h to the staging rows.
  __device__ void finish_unit(const Lstm<T>& op, Gates<T> gate, int i, std::int64_t row, bool valid) {
    const int u = part + Lanes::lanes * i;
    for (int g = 0; g < 4; ++g) gate.of[g] = g == 2 ? squash_both(gate.of[g]) : squash(gate.of[g]);
    for (int g = 0; op.gates != nullptr && valid && g < 4; ++g) op.gates[(row * 4 + g) * H + u] = gate.of[g];
    c[i] = gate.of[1] * c[i] + gate.of[0] * gate.of[2];
    c_row[own * Lanes::row + u] = c[i];
    h_row[own * Lanes::row + u] = gate.of[3] * squash_both(c[i]);
  }
  __device__ void step(const Lstm<T>& op, std::int64_t row, int count) {
    stage_rows(inputs, op.x + row * op.inputs, count, x, op.stage);
    __syncwarp();
    Gates<T> sums[Lanes::units];
    const Gates<T>* w = weights + part;
    for (int i = 0; i < Lanes::units; ++i) {
      sums[i] = w[(op.inputs + H) * Lanes::weight_row + Lanes::lanes * i];
    }
    for (int f = 0; f < op.inputs; ++f, w += Lanes::weight_row) {
      const T in = x[own * op.stage + f];
      for (int i = 0; i < Lanes::units; ++i) sums[i].add(in, w[Lanes::lanes * i]);
    }
#pragma unroll
    for (int k = 0; k < H; ++k, w += Lanes::weight_row) {
      for (int i = 0; i < Lanes::units; ++i) sums[i].add(h[k], w[Lanes::lanes * i]);
    }
    for (int i = 0; i < Lanes::units; ++i) finish_unit(op, sums[i], i, row + own, own < count);
    __syncwarp();
    for (int k = 0; k < H; ++k) h[k] = h_row[own * Lanes::row + k];
    put_rows(states, h_row, Lanes::row, count, op.y + row * H, false);
    put_rows(states, c_row, Lanes::row, count, op.cells + row * H, false);
  }
};

template <class T, int H>
__global__ void __launch_bounds__(threads) forward(Lstm<T> op) {
  using Lanes = HiddenLanes<H>;
  Gates<T>* const weights = dynamic_shared<Gates<T>>();
  bring_lstm_weights<H>(op, weights);
  __syncthreads();
  T* const stages = reinterpret_cast<T*>(weights + (op.inputs + H + 1) * Lanes::weight_row);
  WarpTile<T, H> tile(op, weights, stages + warp() * Lanes::vertices * (op.stage + 2 * Lanes::row));
  for (std::int64_t group = grid_thread() / warp_lanes; group * Lanes::vertices < op.n;
       group += grid_threads() / warp_lanes) {
    const std::int64_t first = group * Lanes::vertices, left = op.n - first;
    const int count = left < Lanes::vertices ? static_cast<int>(left) : Lanes::vertices;
    tile.begin(op, first, count);
    for (std::int64_t t = 0; t < op.steps; ++t) tile.step(op, t * op.n + first, count);
  }
}

bool supports(const LstmSequence& op) {
  return op.x.columns() > 0 && !op.x_right.defined() && !op.w_in.defined() &&
         with_hidden(op.w_h.rows(), [&](auto hidden) {
           return shared_values<hidden>(op.x.columns()) * element_bytes(op.y.type()) <= most_shared_bytes;
         });
}

void run(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = static_cast<int>(op.x.columns());
    const Lstm<T> arrays{op.x.data<T>(), op.w_x.data<T>(),   op.w_h.data<T>(),   op.bias.data<T>(), op.start.data<T>(),
                         op.y.data<T>(), op.cells.data<T>(), op.gates.data<T>(), op.vertices(),     op.steps,
                         inputs,         inputs | 1};
    with_hidden(op.w_h.rows(), [&](auto hidden) {
      constexpr int vertices = threads / HiddenLanes<hidden>::lanes;
      const std::int64_t tiles = (arrays.n + vertices - 1) / vertices;
      launch(context, std::min(tiles, most_blocks), threads, shared_values<hidden>(inputs) * sizeof(T),
             forward<T, hidden>, arrays);
      return true;
    });
  });
}

const RegisterKernel<LstmSequence> registers{Numerics::cuda, {"registers", 1, supports, run}};

}  // namespace lstm_registers_kernels
}  // namespace strobe::cuda
