// Evolution of weight matrices of up to 256 rows over all steps in one launch. A column of the matrix is a sequence of
// its own, so every block walks the steps of one column, with barriers between the parts of a step and no word from
// other blocks. Forward the weights are turned round by a launch before, so that threads, one for each row of the gates
// and each of wx and wh, read neighbouring values, from the second step on from the first-level cache. Backward threads
// have columns of wx and wh and share their rows in groups. Sums of a step are taken in the element type. The gates'
// gradients go to scratch memory in the element type, and a third launch multiplies them with the steps' inputs and
// states, tile by tile (wide_product.hpp), for a few steps a block, whose sums in double a last launch adds in order.
// Cost: 2 launches forward, 3 or 4 backward; per step and block 8 gates F^2 bytes of weights from the cache (64 rows:
// 128 KiB, 1024 cycles) and two or three barriers, forward and backward; scratch T gates F G elements and 16 gates F^2
// bytes for each range of steps.
#include "backends/cuda/kernels/dense/wide_layer.hpp"
#include "backends/cuda/kernels/recurrence/evolve_cells.hpp"

namespace strobe::cuda {
namespace evolve_weights_columns_kernels {

constexpr int most_threads = 512;
constexpr std::int64_t most_rows = 256;

template <class T>
__device__ T gate_of(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// turned[m][j, row] = wx[row, j] for m = 0 and wh[row, j] for m = 1.
template <class T>
__global__ void turn_weights(const T* wx, const T* wh, T* turned, std::int64_t rows, std::int64_t f) {
  for (std::int64_t i = grid_thread(); i < 2 * rows * f; i += grid_threads()) {
    const std::int64_t at = i % (rows * f), row = at % rows, j = at / rows;
    turned[i] = (i < rows * f ? wx : wh)[row * f + j];
  }
}

/// Sum over j < f of w[j * apart] x[j].
template <class T>
__device__ T dot_column(const T* w, int apart, const T* x, int f) {
  T sum{0};
#pragma unroll 8
  for (int j = 0; j < f; ++j) sum += w[j * apart] * x[j];
  return sum;
}

/// A block's shared memory: input and state of the step, an LSTM's cell or a GRU's reset state, and the products of wx
/// and wh, `rows` values each.
template <class T>
struct ColumnMemory {
  int f, rows;
  T *input, *state, *third, *products;

  __device__ ColumnMemory(const Evolution<T>& e, T* memory)
      : f(static_cast<int>(e.f)),
        rows(static_cast<int>(e.gates * e.f)),
        input(memory),
        state(memory + f),
        third(memory + 2 * f),
        products(memory + 3 * f) {}
  __device__ T product(int row) const { return products[row] + products[rows + row]; }
};

/// Unit i of an LSTM's step.
template <class T>
__device__ void lstm_unit(const Evolution<T>& e, const ColumnMemory<T>& m, std::int64_t t, std::int64_t c, int i) {
  T gate[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) gate[k] = e.bias[(k * e.f + i) * e.g + c] + m.product(k * m.f + i);
  const T in = gate_of(gate[0]), forget = gate_of(gate[1]), candidate = std::tanh(gate[2]), out = gate_of(gate[3]);
  const T cell = forget * m.third[i] + in * candidate, state = out * std::tanh(cell);
  const std::int64_t at = i * e.g + c;
  e.kept_at(t, 0)[at] = in, e.kept_at(t, 1)[at] = forget, e.kept_at(t, 2)[at] = candidate, e.kept_at(t, 3)[at] = out;
  e.kept_at(t, 4)[at] = cell;
  e.weights[t * e.size() + at] = state;
  m.third[i] = cell, m.state[i] = state;
}

/// Unit i of a GRU's step in two parts, between which all units' reset states must be there.
template <class T>
__device__ void gru_unit_gates(const Evolution<T>& e, const ColumnMemory<T>& m, std::int64_t t, std::int64_t c, int i) {
  const std::int64_t at = i * e.g + c;
  const T z = gate_of(e.bias[at] + m.product(i)), r = gate_of(e.bias[e.size() + at] + m.product(m.f + i));
  e.kept_at(t, 0)[at] = z, e.kept_at(t, 1)[at] = r;
  m.products[i] = z;  // which only this thread has read
  m.third[i] = r * m.state[i];
}
template <class T>
__device__ void gru_unit_state(const Evolution<T>& e, const ColumnMemory<T>& m, const T* turned, std::int64_t t,
                               std::int64_t c, int i) {
  const int row = 2 * m.f + i;
  const T through = dot_column(turned + m.f * m.rows + row, m.rows, m.third, m.f);
  const T q = std::tanh(e.bias[(2 * e.f + i) * e.g + c] + m.products[row] + through), z = m.products[i];
  const T state = (T{1} - z) * m.state[i] + z * q;
  e.kept_at(t, 2)[i * e.g + c] = q;
  e.weights[t * e.size() + i * e.g + c] = state;
  m.state[i] = state;
}

template <class T>
__global__ void __launch_bounds__(most_threads) evolve_column(Evolution<T> e, const T* turned) {
  const ColumnMemory<T> m(e, dynamic_shared<T>());
  const int i = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t c = blockIdx.x;
  const bool lstm = e.gates == 4;
  if (i < m.f) {
    m.state[i] = e.start[i * e.g + c];
    m.third[i] = e.start_cell == nullptr ? T{0} : e.start_cell[i * e.g + c];
  }
  for (std::int64_t t = 0; t < e.steps; ++t) {
    if (e.summary != nullptr && i < m.f) m.input[i] = e.summary[(t * e.g + c) * e.f + i];
    __syncthreads();
    for (int unit = i; unit < 2 * m.rows; unit += threads) {
      const bool of_state = unit >= m.rows;
      if (!lstm && unit >= m.rows + 2 * m.f) continue;  // a GRU's candidate multiplies something else
      const T* const w = turned + (of_state ? m.f * m.rows + unit - m.rows : unit);
      m.products[unit] = dot_column(w, m.rows, of_state || e.summary == nullptr ? m.state : m.input, m.f);
    }
    __syncthreads();
    if (lstm) {
      if (i < m.f) lstm_unit(e, m, t, c, i);
      continue;
    }
    if (i < m.f) gru_unit_gates(e, m, t, c, i);
    __syncthreads();
    if (i < m.f) gru_unit_state(e, m, turned, t, c, i);
  }
}

/// The gradient's own values: dgates [T, gates * F, G] before the activations, and r h [T, F, G] of a GRU.
template <class T>
struct ColumnGradient {
  Evolution<T> e;
  const T *dweights, *dlast_cell;
  T *dbias, *dstart, *dstart_cell, *dsummary, *dgates, *reset;
  bool detached, accumulate_dsummary;

  __device__ T state(std::int64_t t, std::int64_t at) const {
    return t == 0 ? e.start[at] : e.weights[(t - 1) * e.size() + at];
  }
};

/// A block's shared memory: the gates' gradients of the step, products, and sums over steps. Each thread owns the
/// values of its unit.
template <class T>
struct ColumnSums {
  int f, rows;
  double* bias;
  T *dgate, *products, carry, dcell, back;

  __device__ ColumnSums(const Evolution<T>& e, double* memory)
      : f(static_cast<int>(e.f)),
        rows(static_cast<int>(e.gates * e.f)),
        bias(memory),
        dgate(reinterpret_cast<T*>(memory + rows)),
        products(dgate + rows),
        carry(0),
        dcell(0),
        back(0) {}
};

/// Gate k of unit i has this gradient.
template <class T>
__device__ void put_gate(const ColumnGradient<T>& d, const ColumnSums<T>& m, std::int64_t t, std::int64_t c, int k,
                         int i, T gradient) {
  const int row = k * m.f + i;
  m.dgate[row] = gradient;
  m.bias[row] += static_cast<double>(gradient);
  d.dgates[(t * m.rows + row) * d.e.g + c] = gradient;
}

template <class T>
__device__ void lstm_unit_back(const ColumnGradient<T>& d, ColumnSums<T>& m, std::int64_t t, std::int64_t c, int i) {
  const Evolution<T>& e = d.e;
  const std::int64_t at = i * e.g + c;
  const T dh = d.dweights[t * e.size() + at] + m.carry;
  const T in = e.kept_at(t, 0)[at], forget = e.kept_at(t, 1)[at], candidate = e.kept_at(t, 2)[at],
          out = e.kept_at(t, 3)[at], squashed = std::tanh(e.kept_at(t, 4)[at]);
  const T before = t > 0 ? e.kept_at(t - 1, 4)[at] : e.start_cell == nullptr ? T{0} : e.start_cell[at];
  const T dmemory = m.dcell + dh * out * (T{1} - squashed * squashed);
  put_gate(d, m, t, c, 0, i, dmemory * candidate * in * (T{1} - in));
  put_gate(d, m, t, c, 1, i, dmemory * before * forget * (T{1} - forget));
  put_gate(d, m, t, c, 2, i, dmemory * in * (T{1} - candidate * candidate));
  put_gate(d, m, t, c, 3, i, dh * squashed * out * (T{1} - out));
  m.dcell = d.detached && t > 0 ? T{0} : dmemory * forget;
}

/// z and q of a GRU's unit, then r, between which all units' q must be there.
template <class T>
__device__ void gru_unit_back(const ColumnGradient<T>& d, ColumnSums<T>& m, std::int64_t t, std::int64_t c, int i) {
  const std::int64_t at = i * d.e.g + c;
  const T dh = d.dweights[t * d.e.size() + at] + m.carry, z = d.e.kept_at(t, 0)[at], q = d.e.kept_at(t, 2)[at];
  put_gate(d, m, t, c, 0, i, dh * (q - d.state(t, at)) * z * (T{1} - z));
  put_gate(d, m, t, c, 2, i, dh * z * (T{1} - q * q));
  m.back = dh * (T{1} - z);
}
template <class T>
__device__ void gru_reset_unit_back(const ColumnGradient<T>& d, ColumnSums<T>& m, std::int64_t t, std::int64_t c,
                                    int i) {
  const std::int64_t at = i * d.e.g + c;
  const T r = d.e.kept_at(t, 1)[at], state = d.state(t, at);
  const T dreset = dot_column(d.e.wh + 2 * m.f * m.f + i, m.f, m.dgate + 2 * m.f, m.f);
  put_gate(d, m, t, c, 1, i, dreset * state * r * (T{1} - r));
  d.reset[t * d.e.size() + at] = r * state;
  m.back += dreset * r;
}

/// Products of the step's dgate with the columns of wx, then of wh: a group of 2 F threads has every `groups`-th row.
template <class T>
__device__ void multiply_gates(const Evolution<T>& e, const ColumnSums<T>& m, int groups) {
  const int pair = static_cast<int>(threadIdx.x) % (2 * m.f), group = static_cast<int>(threadIdx.x) / (2 * m.f);
  if (group >= groups) return;
  const bool of_state = pair >= m.f;
  const T* const w = of_state ? e.wh + pair - m.f : e.wx + pair;
  const int last = of_state && e.gates == 3 ? 2 * m.f : m.rows;
  T sum{0};
#pragma unroll 8
  for (int row = group; row < last; row += groups) sum += m.dgate[row] * w[row * m.f];
  m.products[group * 2 * m.f + pair] = sum;
}

/// The gradients of unit i's input and of its state before the step.
template <class T>
__device__ void state_unit_back(const ColumnGradient<T>& d, ColumnSums<T>& m, int groups, std::int64_t t,
                                std::int64_t c, int i) {
  T dx{0}, dh = d.e.gates == 3 ? m.back : T{0};
  for (int group = 0; group < groups; ++group) {
    dx += m.products[group * 2 * m.f + i];
    dh += m.products[group * 2 * m.f + m.f + i];
  }
  if (d.e.summary == nullptr) dh += dx;
  if (d.e.summary != nullptr && d.dsummary != nullptr) {
    T& to = d.dsummary[(t * d.e.g + c) * d.e.f + i];
    to = d.accumulate_dsummary ? to + dx : dx;
  }
  m.carry = d.detached && t > 0 ? T{0} : dh;
}

template <class T>
__global__ void __launch_bounds__(most_threads) evolve_column_back(ColumnGradient<T> d, int groups) {
  ColumnSums<T> m(d.e, dynamic_shared<double>());
  const int i = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t c = blockIdx.x, at = i * d.e.g + c;
  const bool lstm = d.e.gates == 4, unit = i < m.f;
  for (int row = i; row < m.rows; row += threads) m.bias[row] = 0.0;
  if (unit && d.dlast_cell != nullptr) m.dcell = d.dlast_cell[at];
  __syncthreads();
  for (std::int64_t t = d.e.steps - 1; t >= 0; --t) {
    if (unit) lstm ? lstm_unit_back(d, m, t, c, i) : gru_unit_back(d, m, t, c, i);
    if (!lstm) {
      __syncthreads();
      if (unit) gru_reset_unit_back(d, m, t, c, i);
    }
    __syncthreads();
    multiply_gates(d.e, m, groups);
    __syncthreads();
    if (unit) state_unit_back(d, m, groups, t, c, i);
  }
  if (!unit) return;
  for (int row = i; row < m.rows; row += m.f) {  // its own gates
    T& to = d.dbias[row * d.e.g + c];
    to = static_cast<T>(static_cast<double>(to) + m.bias[row]);
  }
  if (d.dstart != nullptr) d.dstart[at] += m.carry;
  if (d.dstart_cell != nullptr) d.dstart_cell[at] += m.dcell;
}

/// How the sums over steps are divided: `count` ranges of `steps` steps; of each, tiles of every gate's rows times
/// tiles of columns, of dwx and, where `both`, of dwh.
struct ParameterRanges {
  std::int64_t steps, count, tiles;
  bool both, vector;
};

/// Sums of dwx, followed by those of dwh [gates * F, F], over a range of steps.
template <class T>
__global__ void __launch_bounds__(256, 1) parameter_sums(ColumnGradient<T> d, ParameterRanges ranges, double* sums) {
  using Slice = WideSlice<T, 4, true>;
  using Memory = WideMemory<T, 4>;
  STROBE_SHARED(Memory, memory);
  const Evolution<T>& e = d.e;
  const std::int64_t products = e.gates * (ranges.both ? 2 : 1), tile = blockIdx.x % (ranges.tiles * ranges.tiles),
                     product = blockIdx.x / (ranges.tiles * ranges.tiles) % products,
                     range = blockIdx.x / (ranges.tiles * ranges.tiles) / products;
  const std::int64_t gate = product % e.gates, top = gate * e.f + tile / ranges.tiles * wide_tile,
                     left = tile % ranges.tiles * wide_tile, weights = e.gates * e.f * e.f;
  const bool of_state = product >= e.gates, of_summary = !of_state && e.summary != nullptr;
  const std::int64_t last = (range + 1) * ranges.steps, end = last < e.steps ? last : e.steps;
  WidePiece<T> sum = {};
  for (std::int64_t t = range * ranges.steps; t < end; ++t) {
    WideOperand<Slice, true, wide_tile, WideMatrix<T>> gates{
        {d.dgates + t * e.gates * e.size(), e.g}, top, (gate + 1) * e.f, ranges.vector, {}, {}};
    if (of_summary) {
      WideOperand<Slice, false, wide_tile, WideMatrix<T>> input{
          {e.summary + t * e.size(), e.f}, left, e.f, ranges.vector, {}, {}};
      multiply_wide<Slice, true, false>(gates, input, 0, e.g, memory.values, sum, [](const auto&) {});
    } else {
      const T* const state = t == 0 ? e.start : e.weights + (t - 1) * e.size();
      const bool reset = of_state && e.gates == 3 && gate == 2;
      WideOperand<Slice, true, wide_tile, WideMatrix<T>> input{
          {reset ? d.reset + t * e.size() : state, e.g}, left, e.f, ranges.vector, {}, {}};
      multiply_wide<Slice, true, true>(gates, input, 0, e.g, memory.values, sum, [](const auto&) {});
    }
  }
  put_wide_tile<Slice>(sum, 0, memory.values);
  double* const to = sums + (range * (ranges.both ? 2 : 1) + (of_state ? 1 : 0)) * weights;
  for (int i = static_cast<int>(threadIdx.x); i < wide_tile * wide_tile; i += Slice::threads) {
    const std::int64_t row = top + i / wide_tile, j = left + i % wide_tile;
    if (row < (gate + 1) * e.f && j < e.f) to[row * e.f + j] = static_cast<double>(memory.values[i]);
  }
}

/// Threads of a block; 2 F of them have a column of wx or wh each.
int threads_for(std::int64_t rows) {
  const std::int64_t wanted = divide_up(2 * rows, warp_lanes) * warp_lanes;
  return static_cast<int>(std::min<std::int64_t>(wanted, most_threads));
}

bool supports_forward(const EvolveWeights& op) {
  return op.start.rows() >= 1 && op.start.rows() <= most_rows && op.start.columns() >= 1;
}
bool supports_backward(const EvolveWeightsBackward& op) {
  return op.start.rows() >= 1 && op.start.rows() <= most_rows && op.start.columns() >= 1;
}

void run_forward(const EvolveWeights& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int threads = 256;
    const Evolution<T> e = evolution_of<T>(op, op.bias);
    const std::int64_t rows = e.gates * e.f, weights = rows * e.f;
    if (e.steps == 0) return;
    auto* const turned = reinterpret_cast<T*>(context.scratch(static_cast<std::size_t>(2 * weights) * sizeof(T)));
    launch(context, blocks_for(2 * weights, threads), threads, 0, turn_weights<T>, e.wx, e.wh, turned, rows, e.f);
    launch(context, e.g, threads_for(rows), static_cast<std::size_t>(3 * e.f + 2 * rows) * sizeof(T), evolve_column<T>,
           e, turned);
  });
}

/// Enough ranges to fill a GPU, and few enough terms a thread that the element type can hold their sum.
template <class T>
ParameterRanges ranges_of(const Evolution<T>& e) {
  constexpr std::int64_t full_grid = 132, most_terms = 128 * 4;
  ParameterRanges ranges{};
  ranges.both = e.summary != nullptr || e.gates == 3;
  ranges.tiles = divide_up(e.f, wide_tile);
  const std::int64_t blocks = ranges.tiles * ranges.tiles * e.gates * (ranges.both ? 2 : 1);
  ranges.steps = std::max<std::int64_t>(1, std::min(divide_up(e.steps * blocks, full_grid), most_terms / e.g));
  ranges.count = divide_up(e.steps, ranges.steps);
  ranges.vector =
      takes_fours(e.start, e.g) && takes_fours(e.weights, e.g) && (e.summary == nullptr || takes_fours(e.summary, e.f));
  return ranges;
}

/// dwx and dwh += the sums of their ranges, which are the same where a step's input is its state.
template <class T>
void add_parameter_sums(const EvolveWeightsBackward& op, const KernelContext& context, const ColumnGradient<T>& d,
                        const ParameterRanges& ranges, double* sums) {
  const std::int64_t weights = op.dwx.elements(), blocks = ranges.tiles * ranges.tiles * d.e.gates;
  launch(context, ranges.count * blocks * (ranges.both ? 2 : 1), 256, 0, parameter_sums<T>, d, ranges, sums);
  if (ranges.both) {
    add_part_sums<T>(context, op.dwx, weights, op.dwh, sums, ranges.count, 2 * weights);
    return;
  }
  add_part_sums<T>(context, op.dwx, weights, Tensor(), sums, ranges.count, weights);
  add_part_sums<T>(context, op.dwh, weights, Tensor(), sums, ranges.count, weights);
}

void run_backward(const EvolveWeightsBackward& op, KernelContext& context) {
  with_element(op.weights.type(), [&](auto zero) {
    using T = decltype(zero);
    const Evolution<T> e = evolution_of<T>(op, Tensor());
    const std::int64_t rows = e.gates * e.f;
    const ParameterRanges ranges = ranges_of(e);
    const std::int64_t count = ranges.count * (ranges.both ? 2 : 1) * op.wx.elements();
    const std::size_t gates = scratch_part(e.steps * rows * e.g, sizeof(T)),
                      reset = scratch_part(e.gates == 3 ? e.steps * e.size() : 0, sizeof(T));
    std::byte* const scratch = context.scratch(gates + reset + scratch_part(count, sizeof(double)));
    const ColumnGradient<T> d{e,
                              op.dweights.data<T>(),
                              op.dlast_cell.data<T>(),
                              op.dbias.data<T>(),
                              op.dstart.data<T>(),
                              op.dstart_cell.data<T>(),
                              op.dsummary.data<T>(),
                              reinterpret_cast<T*>(scratch),
                              reinterpret_cast<T*>(scratch + gates),
                              op.detached,
                              op.accumulate_dsummary};
    const int threads = threads_for(rows), groups = threads / static_cast<int>(2 * e.f);
    const std::size_t shared =
        static_cast<std::size_t>(rows) * sizeof(double) + static_cast<std::size_t>(rows + groups * 2 * e.f) * sizeof(T);
    launch(context, e.g, threads, shared, evolve_column_back<T>, d, groups);
    if (e.steps > 0) add_parameter_sums(op, context, d, ranges, reinterpret_cast<double*>(scratch + gates + reset));
  });
}

const RegisterKernel<EvolveWeights> columns{"cuda", {"columns", 20, supports_forward, run_forward}};
const RegisterKernel<EvolveWeightsBackward> backward_columns{"cuda", {"columns", 20, supports_backward, run_backward}};

}  // namespace evolve_weights_columns_kernels
}  // namespace strobe::cuda
