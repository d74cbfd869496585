// Plain gated recurrent unit over all steps, straight from the definition. A block takes a tile of vertices through all
// steps, a thread takes the units (vertex, u) of the tile in turns, and barriers separate what one unit needs of
// others. Backward goes back through time with the gates read or computed again; each block sums its share of the
// weight gradients in double, and a second launch adds the blocks' sums in order. Any widths. Cost: 6 h (F + h) FLOPs a
// cell forward, three times that backward; x, y and the gates are read or written once, the weights come from caches;
// scratch: 2 h values a vertex forward, 9 h per vertex of a tile and 3 (F + h + 1) h doubles a block backward.
#include <cmath>

#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cuda/kernels/recurrence/sequence_origins.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cuda {
namespace gru_plain_kernels {

constexpr std::int64_t tile = 32;  // vertices
constexpr int threads = 128;

/// Device arrays and sizes; arrays that an operation lacks are null. Gate g reads x[own g, own g + inputs).
template <class T>
struct Gru {
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *gates;
  std::int64_t n, steps, columns, inputs, own, hidden;
  SequenceOrigins origins;

  __device__ const T* h_before(std::int64_t t, std::int64_t v) const {
    return origins.state<T>(y, start, hidden, t, v);
  }
  /// Activated gate g of unit u; `state` is h, or r h for gate 2, null for zero.
  __device__ T gate(std::int64_t row, const T* state, std::int64_t g, std::int64_t u) const {
    const T *in = x + row * columns + g * own, *weights = w_x + g * inputs * hidden + u;
    T sum = bias[g * hidden + u];
    for (std::int64_t f = 0; f < inputs; ++f) sum += in[f] * weights[f * hidden];
    weights = w_h + g * hidden * hidden + u;
    for (std::int64_t k = 0; state != nullptr && k < hidden; ++k) sum += state[k] * weights[k * hidden];
    return g == 2 ? std::tanh(sum) : T{1} / (T{1} + std::exp(-sum));
  }
};

template <class T, class Op>
Gru<T> arrays_of(const Op& op) {
  const std::int64_t inputs = op.w_x.rows() / 3;
  return {op.x.template data<T>(),
          op.w_x.template data<T>(),
          op.w_h.template data<T>(),
          op.bias.template data<T>(),
          op.start.template data<T>(),
          op.y.template data<T>(),
          op.gates.template data<T>(),
          op.vertices(),
          op.steps,
          op.x.columns(),
          inputs,
          op.x.columns() == 3 * inputs ? inputs : 0,
          op.w_h.columns(),
          origins_of(op, 1)};
}

/// Gates r and z of one step of `count` vertices from `first` on: r h goes to `reset`, z to `update` [count, h], both
/// to `kept` when it is there.
template <class T>
__device__ void first_gates(const Gru<T>& op, std::int64_t t, std::int64_t first, std::int64_t count, T* reset,
                            T* update, T* kept) {
  for (std::int64_t i = threadIdx.x; i < count * op.hidden; i += blockDim.x) {
    const std::int64_t v = first + i / op.hidden, u = i % op.hidden, row = t * op.n + v;
    const T* h = op.h_before(t, v);
    const T r = op.gate(row, h, 0, u), z = op.gate(row, h, 1, u);
    reset[i] = h == nullptr ? T{0} : r * h[u];
    update[i] = z;
    if (kept == nullptr) continue;
    kept[row * 3 * op.hidden + u] = r;
    kept[(row * 3 + 1) * op.hidden + u] = z;
  }
}

template <class T>
__global__ void forward(Gru<T> op, T* scratch) {
  const std::int64_t first = blockIdx.x * tile, count = min(tile, op.n - first);
  T *reset = scratch + first * op.hidden, *update = reset + op.n * op.hidden;
  for (std::int64_t t = 0; t < op.steps; ++t) {
    first_gates(op, t, first, count, reset, update, op.gates);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count * op.hidden; i += blockDim.x) {
      const std::int64_t v = first + i / op.hidden, u = i % op.hidden, row = t * op.n + v;
      const T fresh = op.gate(row, reset + i / op.hidden * op.hidden, 2, u), z = update[i];
      const T* h = op.h_before(t, v);
      if (op.gates != nullptr) op.gates[(row * 3 + 2) * op.hidden + u] = fresh;
      op.y[row * op.hidden + u] = (h == nullptr ? T{0} : z * h[u]) + (T{1} - z) * fresh;
    }
    __syncthreads();
  }
}

/// Additional arrays of the backward pass; in scratch per block `gates` and `dz` [tile, 3 h] and `reset`, `dh` and
/// `before` [tile, h].
template <class T>
struct Gradients {
  const T* dy;
  T *dx, *dstart, *scratch;
  double* sums;  // [blocks, 3 (F + h + 1) h]: dw_x, dw_h, dbias
  bool add_dx;
};

/// A block's share of the scratch; `before` is what reaches h_{t-1}.
template <class T>
struct Tile {
  T *gates, *dz, *reset, *dh, *before;
  double* sums;
  std::int64_t first, count;

  __device__ Tile(const Gru<T>& op, const Gradients<T>& to, std::int64_t begin)
      : gates(to.scratch + blockIdx.x * tile * 9 * op.hidden),
        dz(gates + tile * 3 * op.hidden),
        reset(dz + tile * 3 * op.hidden),
        dh(reset + tile * op.hidden),
        before(dh + tile * op.hidden),
        sums(to.sums + blockIdx.x * 3 * (op.inputs + op.hidden + 1) * op.hidden),
        first(begin),
        count(min(tile, op.n - begin)) {}
};

/// Brings the step's gates (r | z | n) and r h to the tile.
template <class T>
__device__ void bring_gates(const Gru<T>& op, const Tile<T>& own, std::int64_t t) {
  const std::int64_t h = op.hidden;
  for (std::int64_t i = threadIdx.x; i < own.count * h; i += blockDim.x) {
    const std::int64_t v = own.first + i / h, u = i % h, row = t * op.n + v;
    const T* state = op.h_before(t, v);
    T* gate = own.gates + i / h * 3 * h + u;
    for (int g = 0; g < 2; ++g) {
      gate[g * h] = op.gates != nullptr ? op.gates[(row * 3 + g) * h + u] : op.gate(row, state, g, u);
    }
    own.reset[i] = state == nullptr ? T{0} : gate[0] * state[u];
  }
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < own.count * h; i += blockDim.x) {
    const std::int64_t u = i % h, row = t * op.n + own.first + i / h;
    own.gates[(i / h * 3 + 2) * h + u] =
        op.gates != nullptr ? op.gates[(row * 3 + 2) * h + u] : op.gate(row, own.reset + i / h * h, 2, u);
  }
}

/// dz of the gates z and n of one unit, and what the update gate lets through to h_{t-1}.
template <class T>
__device__ void unit_back(const Gru<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t,
                          std::int64_t i) {
  const std::int64_t h = op.hidden, u = i % h, v = own.first + i / h;
  const T* state = op.h_before(t, v);
  const T *gate = own.gates + i / h * 3 * h + u, z = gate[h], fresh = gate[2 * h];
  const T d = own.dh[i] + to.dy[(t * op.n + v) * h + u];
  T* dz = own.dz + i / h * 3 * h + u;
  dz[h] = d * ((state == nullptr ? T{0} : state[u]) - fresh) * z * (T{1} - z);
  dz[2 * h] = d * (T{1} - z) * (T{1} - fresh * fresh);
  own.before[i] = d * z;
}

/// dz of the gate r of one unit, and the gradient of h_{t-1} through r h.
template <class T>
__device__ void reset_back(const Gru<T>& op, const Tile<T>& own, std::int64_t t, std::int64_t i) {
  const std::int64_t h = op.hidden, u = i % h;
  const T *state = op.h_before(t, own.first + i / h), *weights = op.w_h + (2 * h + u) * h;
  T* dz = own.dz + i / h * 3 * h;
  T d{0};
  for (std::int64_t j = 0; j < h; ++j) d += dz[2 * h + j] * weights[j];
  const T r = own.gates[i / h * 3 * h + u];
  dz[u] = state == nullptr ? T{0} : d * state[u] * r * (T{1} - r);
  own.before[i] += d * r;
}

/// dh of unit u for the step before, through the gates r and z; dstart where its sequence begins.
template <class T>
__device__ void state_back(const Gru<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t,
                           std::int64_t i) {
  const std::int64_t h = op.hidden, u = i % h;
  const T* dz = own.dz + i / h * 3 * h;
  T d = own.before[i];
  for (int g = 0; g < 2; ++g) {
    for (std::int64_t j = 0; j < h; ++j) d += dz[g * h + j] * op.w_h[(g * h + u) * h + j];
  }
  own.dh[i] = op.origins.leave(d, to.dstart, h, t, own.first + i / h, u);
}

/// dx of the tile's vertex i, column `column`: from its own gate, or from all three.
template <class T>
__device__ void input_back(const Gru<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t, std::int64_t i,
                           std::int64_t column) {
  const std::int64_t h = op.hidden, f = column % op.inputs;
  const std::int64_t begin = op.own > 0 ? column / op.inputs : 0, end = op.own > 0 ? begin + 1 : 3;
  T total{0};
  for (std::int64_t g = begin; g < end; ++g) {
    for (std::int64_t j = 0; j < h; ++j) total += own.dz[(i * 3 + g) * h + j] * op.w_x[(g * op.inputs + f) * h + j];
  }
  T& dx = to.dx[(t * op.n + own.first + i) * op.columns + column];
  dx = to.add_dx ? dx + total : total;
}

/// Adds the tile's terms of sum `at` of dw_x [3 F, h], dw_h [3 h, h] and dbias [3, h], one below the other.
template <class T>
__device__ void add_weight_gradient(const Gru<T>& op, const Tile<T>& own, std::int64_t t, std::int64_t at) {
  const std::int64_t h = op.hidden, row = at / h, j = at % h;
  const bool input = row < 3 * op.inputs, state = !input && row < 3 * (op.inputs + h);
  const std::int64_t k = input ? row : state ? row - 3 * op.inputs : row - 3 * (op.inputs + h);
  const std::int64_t g = input ? k / op.inputs : state ? k / h : k;
  double sum = own.sums[at];
  for (std::int64_t i = 0; i < own.count; ++i) {
    const std::int64_t v = own.first + i;
    const T* before = op.h_before(t, v);
    T in{1};
    if (input) {
      in = op.x[(t * op.n + v) * op.columns + g * op.own + k % op.inputs];
    } else if (state) {
      in = g == 2 ? own.reset[i * h + k % h] : before == nullptr ? T{0} : before[k % h];
    }
    sum += static_cast<double>(in) * static_cast<double>(own.dz[(i * 3 + g) * h + j]);
  }
  own.sums[at] = sum;
}

template <class T>
__device__ void step_back(const Gru<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t) {
  const std::int64_t units = own.count * op.hidden, sums = 3 * (op.inputs + op.hidden + 1) * op.hidden;
  bring_gates(op, own, t);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < units; i += blockDim.x) unit_back(op, to, own, t, i);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < units; i += blockDim.x) reset_back(op, own, t, i);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < units; i += blockDim.x) state_back(op, to, own, t, i);
  for (std::int64_t i = threadIdx.x; to.dx != nullptr && i < own.count * op.columns; i += blockDim.x) {
    input_back(op, to, own, t, i / op.columns, i % op.columns);
  }
  for (std::int64_t i = threadIdx.x; i < sums; i += blockDim.x) add_weight_gradient(op, own, t, i);
  __syncthreads();
}

template <class T>
__global__ void backward(Gru<T> op, Gradients<T> to) {
  const std::int64_t sums = 3 * (op.inputs + op.hidden + 1) * op.hidden;
  for (std::int64_t i = threadIdx.x; i < sums; i += blockDim.x) to.sums[blockIdx.x * sums + i] = 0;
  for (std::int64_t begin = blockIdx.x * tile; begin < op.n; begin += gridDim.x * tile) {
    const Tile<T> own(op, to, begin);
    for (std::int64_t i = threadIdx.x; i < own.count * op.hidden; i += blockDim.x) own.dh[i] = T{0};
    __syncthreads();
    for (std::int64_t t = op.steps - 1; t >= 0; --t) step_back(op, to, own, t);
  }
}

void run_forward(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.vertices();
    if (n == 0) return;
    T* const scratch = reinterpret_cast<T*>(context.scratch(scratch_part(2 * n * op.w_h.columns(), sizeof(T))));
    launch(context, (n + tile - 1) / tile, threads, 0, forward<T>, arrays_of<T>(op), scratch);
  });
}

template <class T>
void run_backward_as(const GruSequenceBackward& op, const KernelContext& context) {
  const std::int64_t stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts((op.vertices() + tile - 1) / tile, stride);
  if (blocks == 0) return;
  const std::size_t sum_bytes = scratch_part(blocks * stride, sizeof(double));
  std::byte* const scratch = context.scratch(sum_bytes + scratch_part(blocks * tile * 9 * op.w_h.columns(), sizeof(T)));
  const Gradients<T> to{op.dy.data<T>(),
                        op.dx.data<T>(),
                        op.dstart.data<T>(),
                        reinterpret_cast<T*>(scratch + sum_bytes),
                        reinterpret_cast<double*>(scratch),
                        op.accumulate_dx};
  launch(context, blocks, threads, 0, backward<T>, arrays_of<T>(op), to);
  add_recurrent_parts<T>(context, op, to.sums, blocks);
}

void run_backward(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GruSequence> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GruSequenceBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace gru_plain_kernels
}  // namespace strobe::cuda
