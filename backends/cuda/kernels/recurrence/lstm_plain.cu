// Plain LSTM over all steps, straight from the definition. A block takes a tile of vertices through all steps, a thread
// takes the units (vertex, u) of the tile in turns, and a barrier separates steps. Backward goes back through time with
// the gates read or computed again; each block sums its share of the weight gradients in double, and a second launch
// adds the blocks' sums in order. Any widths. Cost: 8 h (F + h) FLOPs a cell forward, three times that backward; x, y,
// cells and the gates are read or written once, the weights come from caches; backward adds one row of 9 h values per
// vertex of a tile of scratch and (F + h + 1) 4 h doubles a block. Every gate that reads an input
// made by w_in makes it again (the models put a layer in front instead: Device::wants_joined_inputs).
#include <cmath>

#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cuda/kernels/recurrence/sequence_origins.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cuda {
namespace lstm_plain_kernels {

constexpr std::int64_t tile = 32;  // vertices
constexpr int threads = 128;

/// Device arrays and sizes; arrays that an operation lacks are null.
template <class T>
struct Lstm {
  const T *x, *x_right, *w_in, *w_x, *w_h, *bias, *start;
  T *y, *cells, *gates;
  std::int64_t n, steps, left, inputs, hidden;  // `left` of the inputs are columns of x
  SequenceOrigins origins;

  /// Input f of a cell.
  __device__ T input(std::int64_t row, std::int64_t f) const {
    if (f < left) return activated(x[row * left + f], w_in != nullptr);
    const std::int64_t right = inputs - left;
    if (w_in == nullptr) return x_right[row * right + f - left];
    T sum{0};
    for (std::int64_t k = 0; k < left; ++k) sum += x[row * left + k] * w_in[k * right + f - left];
    return activated(sum, true);
  }

  __device__ const T* h_before(std::int64_t t, std::int64_t v) const {
    return origins.state<T>(y, start, hidden, t, v);
  }
  __device__ const T* c_before(std::int64_t t, std::int64_t v) const {
    return origins.state<T>(cells, start + origins.starts * hidden, hidden, t, v);
  }
  /// Activated gate g of unit u.
  __device__ T gate(std::int64_t t, std::int64_t v, std::int64_t g, std::int64_t u) const {
    const std::int64_t width = 4 * hidden, column = g * hidden + u;
    const T* h = h_before(t, v);
    T sum = bias[column];
    for (std::int64_t f = 0; f < inputs; ++f) sum += input(t * n + v, f) * w_x[f * width + column];
    for (std::int64_t k = 0; h != nullptr && k < hidden; ++k) sum += h[k] * w_h[k * width + column];
    return g == 2 ? std::tanh(sum) : T{1} / (T{1} + std::exp(-sum));
  }
};

template <class T, class Op>
Lstm<T> arrays_of(const Op& op) {
  return {op.x.template data<T>(),
          op.x_right.template data<T>(),
          op.w_in.template data<T>(),
          op.w_x.template data<T>(),
          op.w_h.template data<T>(),
          op.bias.template data<T>(),
          op.start.template data<T>(),
          op.y.template data<T>(),
          op.cells.template data<T>(),
          op.gates.template data<T>(),
          op.vertices(),
          op.steps,
          op.x.columns(),
          op.w_x.rows(),
          op.w_h.rows(),
          origins_of(op, 2)};
}

template <class T>
__device__ void forward_unit(const Lstm<T>& op, std::int64_t t, std::int64_t v, std::int64_t u) {
  const std::int64_t row = t * op.n + v;
  T gate[4];
  for (int g = 0; g < 4; ++g) gate[g] = op.gate(t, v, g, u);
  for (int g = 0; op.gates != nullptr && g < 4; ++g) op.gates[(row * 4 + g) * op.hidden + u] = gate[g];
  const T* before = op.c_before(t, v);
  const T cell = gate[1] * (before == nullptr ? T{0} : before[u]) + gate[0] * gate[2];
  op.cells[row * op.hidden + u] = cell;
  op.y[row * op.hidden + u] = gate[3] * std::tanh(cell);
}

template <class T>
__global__ void forward(Lstm<T> op) {
  const std::int64_t first = blockIdx.x * tile, count = min(tile, op.n - first);
  for (std::int64_t t = 0; t < op.steps; ++t) {
    for (std::int64_t i = threadIdx.x; i < count * op.hidden; i += blockDim.x) {
      forward_unit(op, t, first + i / op.hidden, i % op.hidden);
    }
    __syncthreads();
  }
}

/// Additional arrays of the backward pass; `dz` [blocks, tile, 4 h], `dh` and `dc` [blocks, tile, h] and, with w_in,
/// `din` [blocks, tile, F] in scratch.
template <class T>
struct Gradients {
  const T *dy, *dlast;
  const std::int32_t* ends;  // null: dlast is of the last step
  T *dx, *dx_right, *dstart, *dz, *dh, *dc, *din;
  double* sums;  // [blocks, stride]: dw_x, dw_h, dbias, dw_in
  std::int64_t stride;
  bool add_dx, add_dx_right;
};

/// A block's share of the scratch.
template <class T>
struct Tile {
  T *dz, *dh, *dc, *din;
  double* sums;
  std::int64_t first, count;

  __device__ Tile(const Lstm<T>& op, const Gradients<T>& to, std::int64_t begin)
      : dz(to.dz + blockIdx.x * tile * 4 * op.hidden),
        dh(to.dh + blockIdx.x * tile * op.hidden),
        dc(to.dc + blockIdx.x * tile * op.hidden),
        din(to.din + blockIdx.x * tile * op.inputs),
        sums(to.sums + blockIdx.x * to.stride),
        first(begin),
        count(min(tile, op.n - begin)) {}
};

/// dz of unit u of the tile's vertex i; leaves the gradient of c_{t-1} in dc.
template <class T>
__device__ void unit_back(const Lstm<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t, std::int64_t i,
                          std::int64_t u) {
  const std::int64_t v = own.first + i, row = t * op.n + v;
  T gate[4];
  for (int g = 0; g < 4; ++g) {
    gate[g] = op.gates != nullptr ? op.gates[(row * 4 + g) * op.hidden + u] : op.gate(t, v, g, u);
  }
  const T* before = op.c_before(t, v);
  const T squashed = std::tanh(op.cells[row * op.hidden + u]);
  const T dh = own.dh[i * op.hidden + u] + to.dy[row * op.hidden + u];
  const std::int64_t end = to.ends == nullptr || to.dlast == nullptr ? -1 : to.ends[row];
  const T last = end < 0 ? T{0} : to.dlast[end * op.hidden + u];
  const T dc = own.dc[i * op.hidden + u] + last + dh * gate[3] * (T{1} - squashed * squashed);
  T* dz = own.dz + i * 4 * op.hidden + u;
  dz[0] = dc * gate[2] * gate[0] * (T{1} - gate[0]);
  dz[op.hidden] = before == nullptr ? T{0} : dc * before[u] * gate[1] * (T{1} - gate[1]);
  dz[2 * op.hidden] = dc * gate[0] * (T{1} - gate[2] * gate[2]);
  dz[3 * op.hidden] = dh * squashed * gate[3] * (T{1} - gate[3]);
  T* const dstart = to.dstart == nullptr ? nullptr : to.dstart + op.origins.starts * op.hidden;
  own.dc[i * op.hidden + u] = op.origins.leave(dc * gate[1], dstart, op.hidden, t, v, u);
}

/// dz times row k of the weights: the gradient of x where k < F, else of h_{t-1}.
template <class T>
__device__ void through_weights(const Lstm<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t,
                                std::int64_t i, std::int64_t k) {
  const std::int64_t width = 4 * op.hidden;
  const bool input = k < op.inputs, left = k < op.left;
  T* const out = left ? to.dx : to.dx_right;
  if (input && out == nullptr && op.w_in == nullptr) return;
  const T *dz = own.dz + i * width, *weights = input ? op.w_x + k * width : op.w_h + (k - op.inputs) * width;
  T total{0};
  for (std::int64_t j = 0; j < width; ++j) total += dz[j] * weights[j];
  if (!input) {
    const std::int64_t u = k - op.inputs;
    own.dh[i * op.hidden + u] = op.origins.leave(total, to.dstart, op.hidden, t, own.first + i, u);
    return;
  }
  const std::int64_t row = t * op.n + own.first + i;
  if (op.w_in != nullptr) {
    own.din[i * op.inputs + k] = op.input(row, k) > T{0} ? total : T{0};
    return;
  }
  T& dx = out[left ? row * op.left + k : row * (op.inputs - op.left) + k - op.left];
  dx = (left ? to.add_dx : to.add_dx_right) ? dx + total : total;
}

/// Adds the tile's terms of one weight: row k of (x | h_{t-1} | 1), column j.
template <class T>
__device__ void add_weight_gradient(const Lstm<T>& op, const Tile<T>& own, std::int64_t t, std::int64_t k,
                                    std::int64_t j) {
  const std::int64_t width = 4 * op.hidden;
  double sum = own.sums[k * width + j];
  for (std::int64_t i = 0; i < own.count; ++i) {
    const std::int64_t v = own.first + i;
    const T* h = op.h_before(t, v);
    T in{1};
    if (k < op.inputs) {
      in = op.input(t * op.n + v, k);
    } else if (k < op.inputs + op.hidden) {
      in = h == nullptr ? T{0} : h[k - op.inputs];
    }
    sum += static_cast<double>(in) * static_cast<double>(own.dz[i * width + j]);
  }
  own.sums[k * width + j] = sum;
}

/// Column f of dx of the tile's vertex i, through w_in.
template <class T>
__device__ void through_input_layer(const Lstm<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t,
                                    std::int64_t i, std::int64_t f) {
  const std::int64_t made = op.inputs - op.left;
  const T* din = own.din + i * op.inputs;
  T total = din[f];
  for (std::int64_t g = 0; g < made; ++g) total += op.w_in[f * made + g] * din[op.left + g];
  T& dx = to.dx[(t * op.n + own.first + i) * op.left + f];
  dx = to.add_dx ? dx + total : total;
}

/// Adds the tile's terms of element (f, g) of dw_in.
template <class T>
__device__ void add_input_layer_gradient(const Lstm<T>& op, const Tile<T>& own, std::int64_t t, std::int64_t f,
                                         std::int64_t g) {
  const std::int64_t made = op.inputs - op.left;
  double& sum = own.sums[(op.inputs + op.hidden + 1) * 4 * op.hidden + f * made + g];
  for (std::int64_t i = 0; i < own.count; ++i) {
    sum += static_cast<double>(op.x[(t * op.n + own.first + i) * op.left + f]) *
           static_cast<double>(own.din[i * op.inputs + op.left + g]);
  }
}

template <class T>
__device__ void input_layer_back(const Lstm<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t) {
  const std::int64_t made = op.inputs - op.left;
  for (std::int64_t i = threadIdx.x; to.dx != nullptr && i < own.count * op.left; i += blockDim.x) {
    through_input_layer(op, to, own, t, i / op.left, i % op.left);
  }
  for (std::int64_t i = threadIdx.x; i < op.left * made; i += blockDim.x) {
    add_input_layer_gradient(op, own, t, i / made, i % made);
  }
  __syncthreads();
}

template <class T>
__device__ void step_back(const Lstm<T>& op, const Gradients<T>& to, const Tile<T>& own, std::int64_t t) {
  const std::int64_t rows = op.inputs + op.hidden, width = 4 * op.hidden;
  for (std::int64_t i = threadIdx.x; i < own.count * op.hidden; i += blockDim.x) {
    unit_back(op, to, own, t, i / op.hidden, i % op.hidden);
  }
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < own.count * rows; i += blockDim.x) {
    through_weights(op, to, own, t, i / rows, i % rows);
  }
  for (std::int64_t i = threadIdx.x; i < (rows + 1) * width; i += blockDim.x) {
    add_weight_gradient(op, own, t, i / width, i % width);
  }
  __syncthreads();
  if (op.w_in != nullptr) input_layer_back(op, to, own, t);
}

template <class T>
__global__ void backward(Lstm<T> op, Gradients<T> to) {
  for (std::int64_t i = threadIdx.x; i < to.stride; i += blockDim.x) to.sums[blockIdx.x * to.stride + i] = 0;
  for (std::int64_t begin = blockIdx.x * tile; begin < op.n; begin += gridDim.x * tile) {
    const Tile<T> own(op, to, begin);
    for (std::int64_t i = threadIdx.x; i < own.count * op.hidden; i += blockDim.x) {
      own.dh[i] = T{0};
      own.dc[i] = to.dlast == nullptr || to.ends != nullptr ? T{0} : to.dlast[begin * op.hidden + i];
    }
    __syncthreads();
    for (std::int64_t t = op.steps - 1; t >= 0; --t) step_back(op, to, own, t);
  }
}

void run_forward(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, (op.vertices() + tile - 1) / tile, threads, 0, forward<T>, arrays_of<T>(op));
  });
}

template <class T>
void run_backward_as(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t width = op.w_h.columns(), stride = recurrent_stride(op);
  const std::int64_t blocks = blocks_with_parts((op.vertices() + tile - 1) / tile, stride);
  if (blocks == 0) return;
  const std::size_t sum_bytes = scratch_part(blocks * stride, sizeof(double)),
                    dz_bytes = scratch_part(blocks * tile * width, sizeof(T)),
                    flow_bytes = scratch_part(blocks * tile * op.w_h.rows(), sizeof(T)),
                    din_bytes = op.w_in.defined() ? scratch_part(blocks * tile * op.w_x.rows(), sizeof(T)) : 0;
  std::byte* const scratch = context.scratch(sum_bytes + dz_bytes + 2 * flow_bytes + din_bytes);
  std::byte* const flow = scratch + sum_bytes + dz_bytes;
  const Gradients<T> to{op.dy.data<T>(),
                        op.dlast.data<T>(),
                        op.ends.data<std::int32_t>(),
                        op.dx.data<T>(),
                        op.dx_right.data<T>(),
                        op.dstart.data<T>(),
                        reinterpret_cast<T*>(scratch + sum_bytes),
                        reinterpret_cast<T*>(flow),
                        reinterpret_cast<T*>(flow + flow_bytes),
                        reinterpret_cast<T*>(flow + 2 * flow_bytes),
                        reinterpret_cast<double*>(scratch),
                        stride,
                        op.accumulate_dx,
                        op.accumulate_dx_right};
  launch(context, blocks, threads, 0, backward<T>, arrays_of<T>(op), to);
  add_recurrent_parts<T>(context, op, to.sums, blocks);
}

void run_backward(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<LstmSequence> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<LstmSequenceBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace lstm_plain_kernels
}  // namespace strobe::cuda
