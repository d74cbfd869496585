// Shared by the wide recurrences: products of tiles inside one block, which takes 32 vertices through all steps. A
// thread has 4 rows and C columns of a panel in registers; the inner dimension passes through shared memory in slices,
// and one slice is read while the next is on its way from global memory in registers. The right factor, the weights, is
// packed beforehand, so that a slice is one contiguous piece in the order in which threads want their columns; the left
// one is read where it lies. Where a panel has few columns, two halves of the block share a slice's inner indices and
// exchange half of their sums after the last one.
// Cost of a slice: one barrier; per inner index and thread (4 + C) / 4 vector loads of shared memory for 4 C
// multiply-adds. Lanes are laid out so that a warp reads 4 x 8 different vectors and neighbours the same ones.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_gates.hpp"
#include "backends/cuda/kernels/recurrence/recurrent_sums.hpp"

namespace strobe::cuda {

inline constexpr int panel_threads = 256;
inline constexpr std::int64_t panel_vertices = 32, panel_units = 64;

/// Shared memory of a panel: X threads side by side, with C columns each; S parts of the block share a slice.
template <class T, int X, int C, int S>
struct alignas(16) Panel {
  using Element = T;
  static constexpr int across = X, own = C, parts = S, columns = X * C, rows = panel_threads / S / X * 4;
  static constexpr int part_slice = 64 / static_cast<int>(sizeof(T)), slice = S * part_slice;
  static constexpr int part_threads = panel_threads / S, own_rows = 4 / S;

  T left[2][slice][rows + 4], right[2][slice][columns];
  T exchanged[S > 1 ? own_rows* C* panel_threads : 1];
};

/// Blocks that an SM is to hold, by the registers of a thread.
template <class T>
inline constexpr int panel_blocks = sizeof(T) == 8 ? 1 : 2;

/// 32 vertices by 64 units with four gates each; and by 64 columns.
template <class T>
using GatePanel = Panel<T, 32, 8, 1>;
template <class T>
using ColumnPanel = Panel<T, 16, 4, 2>;

/// Where a thread's values lie: rows row + i, and for column c of its own: position vectors c / 4 * across + column.
template <class P>
struct PanelPlace {
  int part = static_cast<int>(threadIdx.x) / P::part_threads;
  int column, row;

  __device__ PanelPlace() {
    const int bits = lane(), first = warp() % (P::part_threads / warp_lanes);
    column = first % (P::across / 8) * 8 + ((bits & 1) | (bits >> 1 & 2) | (bits >> 2 & 4));
    row = (first / (P::across / 8) * 4 + ((bits >> 1 & 1) | (bits >> 2 & 2))) * 4;
  }
};

/// Four values that travel as vectors.
template <class T>
struct alignas(16) Four {
  T of[4];
};

/// Slices for `inner` inner indices, and these rounded up to whole slices.
template <class P>
__host__ __device__ int slices_of(std::int64_t inner) {
  return static_cast<int>((inner + P::slice - 1) / P::slice);
}
template <class P>
std::int64_t padded_inner(std::int64_t inner) {
  return divide_up(inner, P::slice) * P::slice;
}

/// Rows of up to three arrays side by side, as a left factor: `width` values of each, rows `apart` values apart. Zero
/// after the last row or column, and for a null array.
template <class T>
struct JoinedRows {
  struct Part {
    const T* values = nullptr;
    int width = 0, apart = 0;
  };
  Part first, second, third;
  int rows;

  __device__ T at(int row, int k) const {
    const T* values = first.values;
    int apart = first.apart, width = first.width;
    if (k >= width) {
      k -= width;
      values = second.values, apart = second.apart, width = second.width;
      if (k >= width) {
        k -= width;
        values = third.values, apart = third.apart, width = third.width;
      }
    }
    if (row >= rows || k >= width || values == nullptr) return T{0};
    return values[static_cast<std::int64_t>(row) * apart + k];
  }
};

/// Slices of consecutive rows; neighbouring threads have neighbouring inner indices.
template <class P>
struct RowSlices {
  using T = typename P::Element;
  static constexpr int values = P::rows * P::slice / panel_threads;
  const JoinedRows<T>& from;

  __device__ void bring(int slice, T (&to)[values]) const {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < values; ++i) {
      const int at = thread + i * panel_threads;
      to[i] = from.at(at / P::slice, slice * P::slice + at % P::slice);
    }
  }
  __device__ void put(const T (&values_of)[values], P& shared, int buffer) const {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < values; ++i) {
      const int at = thread + i * panel_threads;
      shared.left[buffer][at % P::slice][at / P::slice] = values_of[i];
    }
  }
};

/// Slices of packed weights.
template <class P>
struct PackedSlices {
  using T = typename P::Element;
  static constexpr int values = P::columns * P::slice / panel_threads;
  const T* panel;

  __device__ void bring(int slice, T (&to)[values]) const {
    const auto* from =
        reinterpret_cast<const Four<T>*>(panel + static_cast<std::int64_t>(slice) * P::slice * P::columns);
#pragma unroll
    for (int i = 0; i < values / 4; ++i) {
      const Four<T> four = from[i * panel_threads + static_cast<int>(threadIdx.x)];
#pragma unroll
      for (int j = 0; j < 4; ++j) to[i * 4 + j] = four.of[j];
    }
  }
  __device__ void put(const T (&values_of)[values], P& shared, int buffer) const {
    auto* const to = reinterpret_cast<Four<T>*>(&shared.right[buffer][0][0]);
#pragma unroll
    for (int i = 0; i < values / 4; ++i) {
      to[i * panel_threads + static_cast<int>(threadIdx.x)] =
          Four<T>{{values_of[i * 4], values_of[i * 4 + 1], values_of[i * 4 + 2], values_of[i * 4 + 3]}};
    }
  }
};

/// sum += the thread's values of its part of a slice.
template <class P, class T>
__device__ void multiply_panel_slice(const P& shared, int buffer, const PanelPlace<P>& at, T (&sum)[4][P::own]) {
  const int first = at.part * P::part_slice;
#pragma unroll
  for (int k = 0; k < P::part_slice; ++k) {
    T left[4];
    load_four(&shared.left[buffer][first + k][at.row], left);
#pragma unroll
    for (int q = 0; q < P::own / 4; ++q) {
      T right[4];
      load_four(&shared.right[buffer][first + k][(q * P::across + at.column) * 4], right);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][q * 4 + j] += left[i] * right[j];
      }
    }
  }
}

/// sum += the product over `slices` slices; after(slice) follows each of them while it is still in shared memory. Every
/// thread of the block calls it. A barrier must lie between earlier writes to global memory and this call.
template <class P, class Left, class Right, class After, class T>
__device__ void multiply_panel(P& shared, int slices, const Left& left, const Right& right, T (&sum)[4][P::own],
                               const After& after) {
  const PanelPlace<P> at;
  T next_left[Left::values], next_right[Right::values];
  left.bring(0, next_left);
  right.bring(0, next_right);
  left.put(next_left, shared, 0);
  right.put(next_right, shared, 0);
  __syncthreads();
#pragma unroll 1
  for (int s = 0; s < slices; ++s) {
    const bool more = s + 1 < slices;
    if (more) {
      left.bring(s + 1, next_left);
      right.bring(s + 1, next_right);
    }
    multiply_panel_slice(shared, s & 1, at, sum);
    after(s);
    if (more) {
      left.put(next_left, shared, (s + 1) & 1);
      right.put(next_right, shared, (s + 1) & 1);
    }
    __syncthreads();
  }
}

/// 32 rows by 64 columns of the product of `rows` with a packed panel: own[i][c] is row `row + part * 2 + i`, column
/// `column + 16 c` of the thread's place.
template <class T>
__device__ void multiply_columns(ColumnPanel<T>& shared, std::int64_t inner, const JoinedRows<T>& rows, const T* panel,
                                 T (&own)[2][4]) {
  using P = ColumnPanel<T>;
  T sum[4][4] = {};
  multiply_panel(shared, slices_of<P>(inner), RowSlices<P>{rows}, PackedSlices<P>{panel}, sum, [](int) {});
  const int part = static_cast<int>(threadIdx.x) / P::part_threads, thread = static_cast<int>(threadIdx.x);
  const int other = (thread + P::part_threads) % panel_threads;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      own[i][c] = part == 0 ? sum[i][c] : sum[2 + i][c];
      shared.exchanged[(i * 4 + c) * panel_threads + thread] = part == 0 ? sum[2 + i][c] : sum[i][c];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int c = 0; c < 4; ++c) own[i][c] += shared.exchanged[(i * 4 + c) * panel_threads + other];
  }
}

/// Which column of a ColumnPanel lies at a position of its packed rows.
__device__ inline int column_at(int position) { return position % 4 * 16 + position / 4; }

/// Packs `panels` panels of `inner` rows by P::columns positions: from.at(panel, k, position).
template <class P, class From>
__global__ void pack_panels(From from, std::int64_t inner, std::int64_t panels, typename P::Element* to) {
  for (std::int64_t i = grid_thread(); i < panels * inner * P::columns; i += grid_threads()) {
    to[i] = from.at(i / (inner * P::columns), i / P::columns % inner, static_cast<int>(i % P::columns));
  }
}
template <class P, class From>
void launch_packing(const KernelContext& context, const From& from, std::int64_t inner, std::int64_t panels,
                    typename P::Element* to) {
  launch(context, blocks_for(panels * inner * P::columns, panel_threads), panel_threads, 0, pack_panels<P, From>, from,
         inner, panels, to);
}

/// Steps whose `row_values` values a row stay within 256 MiB of scratch memory; at least one.
inline std::int64_t steps_of_chunk(std::int64_t steps, std::int64_t vertices, std::int64_t row_bytes) {
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
  return std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(vertices * row_bytes, 1), 1, steps);
}

/// Whether a recurrence is too wide for lanes of a warp (recurrent_lanes.hpp); `inputs` of a gate.
inline bool wants_panels(std::int64_t inputs, std::int64_t hidden) {
  return hidden > narrow_hidden || inputs > narrow_inputs;
}

/// The terms of the weight gradients of a chunk of steps: sums over rows r of its `rows` rows, from row `first` of x
/// and y on, of (x | x_right | h_{t-1})_r times dz_r, and of dz_r alone. Gate g reads x[own g, own g + inputs);
/// `reset`, where it is there, is what gate 2 reads for h. dz and reset begin with the chunk. A part is one row of
/// `stride` sums: element (k, g, u) at k * input_row + g * input_gate + u for inputs, then those of h in
/// the same layout, then the bias.
template <class T>
struct RecurrentTerms {
  const T *x, *x_right, *y, *start, *reset, *dz;
  std::int64_t n, first, columns, inputs, left, own, hidden, gates;
  std::int64_t input_row, input_gate, state_row, state_gate;
  RowParts parts;
  std::int64_t stride;
  double* sums;
  bool add;  // to what earlier chunks left

  __device__ std::int64_t place(std::int64_t k, std::int64_t g) const {
    if (k < inputs) return k * input_row + g * input_gate;
    if (k < inputs + hidden) return inputs * gates * hidden + (k - inputs) * state_row + g * state_gate;
    return (inputs + hidden) * gates * hidden + g * hidden;
  }
};

/// Ranges for a chunk of `rows` rows, so that the launch of recurrent_weight_sums has some 256 blocks.
RowParts recurrent_parts(std::int64_t rows, std::int64_t inner, std::int64_t gates, std::int64_t hidden);
/// One launch.
void recurrent_weight_sums(const KernelContext& context, const RecurrentTerms<float>& terms);
void recurrent_weight_sums(const KernelContext& context, const RecurrentTerms<double>& terms);

/// The terms of an operation of `gates` gates; `reset` is null in an LSTM.
template <class T, class Op>
RecurrentTerms<T> terms_of(const Op& op, std::int64_t gates, const RowParts& parts, double* sums, const T* dz,
                           const T* reset) {
  const std::int64_t hidden = op.y.columns(), columns = op.x.columns(), inputs = op.w_x.elements() / (gates * hidden);
  RecurrentTerms<T> terms{};
  terms.x = op.x.template data<T>(), terms.y = op.y.template data<T>(), terms.start = op.start.template data<T>();
  terms.reset = reset, terms.dz = dz, terms.n = op.vertices(), terms.columns = columns, terms.hidden = hidden;
  terms.inputs = inputs, terms.gates = gates;
  terms.parts = parts, terms.stride = recurrent_stride(op), terms.sums = sums;
  if constexpr (requires { op.x_right; }) {  // all gates of a unit in a row of the weights
    terms.x_right = op.x_right.template data<T>(), terms.left = columns;
    terms.input_row = terms.state_row = gates * hidden, terms.input_gate = terms.state_gate = hidden;
  } else {
    terms.left = inputs, terms.own = columns == gates * inputs ? inputs : 0;
    terms.input_row = terms.state_row = hidden;
    terms.input_gate = inputs * hidden, terms.state_gate = hidden * hidden;
  }
  return terms;
}

/// Goes back chunk by chunk: `backward` leaves the gradients of gates and states, then comes their part of the weights'
/// sums.
template <class T, class Arrays, class Gradients>
void run_chunks(const KernelContext& context, std::int64_t chunk, void (*backward)(Arrays, Gradients), Arrays arrays,
                Gradients to, RecurrentTerms<T> terms) {
  const std::int64_t grain = terms.parts.grain;
  for (; to.end > 0; to.end = to.begin, terms.add = true) {
    to.begin = std::max<std::int64_t>(to.end - chunk, 0);
    if constexpr (requires { arrays.reset_begin; }) arrays.reset_begin = to.begin;
    launch(context, divide_up(terms.n, panel_vertices), panel_threads, 0, backward, arrays, to);
    const std::int64_t rows = (to.end - to.begin) * terms.n;
    terms.first = to.begin * terms.n;
    terms.parts = {rows, grain, divide_up(rows, grain)};
    recurrent_weight_sums(context, terms);
  }
}

}  // namespace strobe::cuda
