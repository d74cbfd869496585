// Gated recurrent unit over all steps of a tile of vertices in one launch, hidden widths 16 and 32. A warp takes 8 or 4
// vertices through all steps on its own: h stays in registers, the weights in shared memory, x_t comes in and h_t goes
// out by way of the warp's staging rows. Cost: the compulsory bytes - x and y once, the weights once a block of at most
// 2048 - in transfers of whole sectors; kept gates are written in rows of their own.
#include "backends/cuda/kernels/recurrence/recurrent_tiles.hpp"

namespace strobe::cuda {
namespace gru_registers_kernels {

constexpr int threads = 128;
constexpr std::int64_t most_blocks = 2048;

/// Device arrays and sizes; null where the operation has none. Gate g reads x[own g, own g + inputs).
template <class T>
struct Gru {
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *gates;
  std::int64_t n, steps;
  int columns, inputs, own;
  __host__ __device__ int stage() const { return columns | 1; }
};

template <int H>
std::size_t shared_values(std::int64_t inputs, std::int64_t columns) {
  using Lanes = HiddenLanes<H>;
  const std::int64_t weights = (inputs + H + 1) * Lanes::weight_row * 4;
  return static_cast<std::size_t>(weights + threads / Lanes::lanes * ((columns | 1) + Lanes::row));
}

/// The state of a lane, and its warp's staging rows.
template <class T, int H>
struct WarpTile {
  using Lanes = HiddenLanes<H>;
  const Gates<T>* weights;
  T *x, *row_h;
  RowWalk inputs, states;
  int own = lane() / Lanes::lanes, part = lane() % Lanes::lanes;
  T h[H], mine[Lanes::units];  // all of h, and this lane's units of it

  __device__ WarpTile(const Gru<T>& op, const Gates<T>* shared_weights, T* stage)
      : weights(shared_weights), x(stage), row_h(x + Lanes::vertices * op.stage()), inputs(op.columns), states(H) {}

  __device__ void begin(const Gru<T>& op, std::int64_t first, int count) {
    const bool from = op.start != nullptr && own < count;
    const T* start = op.start + (from ? (first + own) * H : 0);
    for (int k = 0; k < H; ++k) h[k] = from ? start[k] : T{0};
    for (int i = 0; i < Lanes::units; ++i) mine[i] = from ? start[part + Lanes::lanes * i] : T{0};
  }
  /// Sums of the gates that need no other gate: r and z whole, n its share of x.
  __device__ void first_sums(const Gru<T>& op, Gates<T>* sums) const {
    const Gates<T>* w = weights + part;
    const T* row = x + own * op.stage();
    for (int i = 0; i < Lanes::units; ++i) sums[i] = w[(op.inputs + H) * Lanes::weight_row + Lanes::lanes * i];
    for (int f = 0; f < op.inputs; ++f, w += Lanes::weight_row) {
      const T in[3] = {row[f], row[op.own + f], row[2 * op.own + f]};
      for (int i = 0; i < Lanes::units; ++i) {
        for (int g = 0; g < 3; ++g) sums[i].of[g] += in[g] * w[Lanes::lanes * i].of[g];
      }
    }
#pragma unroll
    for (int k = 0; k < H; ++k, w += Lanes::weight_row) {
      for (int i = 0; i < Lanes::units; ++i) {
        for (int g = 0; g < 2; ++g) sums[i].of[g] += h[k] * w[Lanes::lanes * i].of[g];
      }
    }
  }
  /// Adds (r h) w_h to the sums of gate n, with r h in the staging rows.
  __device__ void add_reset(const Gru<T>& op, Gates<T>* sums) const {
    const Gates<T>* w = weights + op.inputs * Lanes::weight_row + part;
#pragma unroll
    for (int k = 0; k < H; ++k, w += Lanes::weight_row) {
      const T reset = row_h[own * Lanes::row + k];
      for (int i = 0; i < Lanes::units; ++i) sums[i].of[2] += reset * w[Lanes::lanes * i].of[2];
    }
  }
  __device__ void keep_gates(const Gru<T>& op, const Gates<T>& gate, int i, std::int64_t row) const {
    for (int g = 0; g < 3; ++g) op.gates[(row * 3 + g) * H + part + Lanes::lanes * i] = gate.of[g];
  }
  __device__ void step(const Gru<T>& op, std::int64_t row, int count) {
    stage_rows(inputs, op.x + row * op.columns, count, x, op.stage());
    __syncwarp();
    Gates<T> sums[Lanes::units];
    first_sums(op, sums);
    for (int i = 0; i < Lanes::units; ++i) {
      for (int g = 0; g < 2; ++g) sums[i].of[g] = squash(sums[i].of[g]);
      row_h[own * Lanes::row + part + Lanes::lanes * i] = sums[i].of[0] * mine[i];
    }
    __syncwarp();
    add_reset(op, sums);
    __syncwarp();
    for (int i = 0; i < Lanes::units; ++i) {
      sums[i].of[2] = squash_both(sums[i].of[2]);
      if (op.gates != nullptr && own < count) keep_gates(op, sums[i], i, row + own);
      mine[i] = sums[i].of[1] * mine[i] + (T{1} - sums[i].of[1]) * sums[i].of[2];
      row_h[own * Lanes::row + part + Lanes::lanes * i] = mine[i];
    }
    __syncwarp();
    for (int k = 0; k < H; ++k) h[k] = row_h[own * Lanes::row + k];
    put_rows(states, row_h, Lanes::row, count, op.y + row * H, false);
  }
};

template <class T, int H>
__global__ void __launch_bounds__(threads) forward(Gru<T> op) {
  using Lanes = HiddenLanes<H>;
  Gates<T>* const weights = dynamic_shared<Gates<T>>();
  bring_gru_weights<H>(op, weights);
  __syncthreads();
  T* const stages = reinterpret_cast<T*>(weights + (op.inputs + H + 1) * Lanes::weight_row);
  WarpTile<T, H> tile(op, weights, stages + warp() * Lanes::vertices * (op.stage() + Lanes::row));
  for (std::int64_t group = grid_thread() / warp_lanes; group * Lanes::vertices < op.n;
       group += grid_threads() / warp_lanes) {
    const std::int64_t first = group * Lanes::vertices, left = op.n - first;
    const int count = left < Lanes::vertices ? static_cast<int>(left) : Lanes::vertices;
    tile.begin(op, first, count);
    for (std::int64_t t = 0; t < op.steps; ++t) tile.step(op, t * op.n + first, count);
    __syncwarp();
  }
}

bool supports(const GruSequence& op) {
  return op.x.columns() > 0 && with_hidden(op.w_h.columns(), [&](auto hidden) {
           return shared_values<hidden>(op.w_x.rows() / 3, op.x.columns()) * element_bytes(op.y.type()) <=
                  most_shared_bytes;
         });
}

void run(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto inputs = static_cast<int>(op.w_x.rows() / 3), columns = static_cast<int>(op.x.columns());
    const Gru<T> arrays{op.x.data<T>(),
                        op.w_x.data<T>(),
                        op.w_h.data<T>(),
                        op.bias.data<T>(),
                        op.start.data<T>(),
                        op.y.data<T>(),
                        op.gates.data<T>(),
                        op.vertices(),
                        op.steps,
                        columns,
                        inputs,
                        columns == 3 * inputs ? inputs : 0};
    with_hidden(op.w_h.columns(), [&](auto hidden) {
      constexpr int vertices = threads / HiddenLanes<hidden>::lanes;
      const std::int64_t tiles = (arrays.n + vertices - 1) / vertices;
      launch(context, std::min(tiles, most_blocks), threads, shared_values<hidden>(inputs, columns) * sizeof(T),
             forward<T, hidden>, arrays);
      return true;
    });
  });
}

const RegisterKernel<GruSequence> registers{Numerics::cuda, {"registers", 1, supports, run}};

}  // namespace gru_registers_kernels
}  // namespace strobe::cuda
