// Shared by forward and backward of the LSTM as products of tiles: the gates of 32 vertices and 64 units at one step,
// which are the product [x_t | h_{t-1}] [w_x ; w_h] with the columns in such an order that a thread has all four gates
// of its units.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_products.hpp"

namespace strobe::cuda {
namespace lstm_products {

/// Device arrays and sizes; null where the operation has none. `left` of the inputs are columns of x.
template <class T>
struct Lstm {
  const T *x, *x_right, *bias, *start;
  T *y, *cells, *gates;
  const T* packed;  // a panel of `inner` rows for every 64 units
  std::int64_t n, steps;
  int left, inputs, hidden, inner;

  __device__ int tiles() const { return (hidden + static_cast<int>(panel_units) - 1) / static_cast<int>(panel_units); }
  /// h_{t-1} and c_{t-1} of vertex v and the following ones; null for zero.
  __device__ const T* h_before(std::int64_t t, std::int64_t v) const {
    if (t > 0) return y + ((t - 1) * n + v) * hidden;
    return start == nullptr ? nullptr : start + v * hidden;
  }
  __device__ const T* c_before(std::int64_t t, std::int64_t v) const {
    if (t > 0) return cells + ((t - 1) * n + v) * hidden;
    return start == nullptr ? nullptr : start + (n + v) * hidden;
  }
};

/// A block's vertices at one step, and 64 of their units: element (i, q) of a thread is vertex row + i, unit q * 32 +
/// column of its place.
template <class T>
struct UnitTile {
  const Lstm<T>& op;
  std::int64_t t, first;
  int count;
  PanelPlace<GatePanel<T>> at;
  int unit;

  __device__ UnitTile(const Lstm<T>& lstm, std::int64_t step, int tile)
      : op(lstm),
        t(step),
        first(static_cast<std::int64_t>(blockIdx.x) * panel_vertices),
        count(static_cast<int>(min(panel_vertices, lstm.n - first))),
        unit(tile * static_cast<int>(panel_units) + at.column) {}

  __device__ bool inside(int i, int q) const { return at.row + i < count && unit + q * 32 < op.hidden; }
  /// The place of an element in rows of h values that begin with the block's first vertex.
  __device__ std::int64_t place(int i, int q) const {
    return static_cast<std::int64_t>(at.row + i) * op.hidden + unit + q * 32;
  }
  __device__ std::int64_t first_row() const { return t * op.n + first; }
  __device__ std::int64_t gate_place(int i, int q, int g) const {
    return ((first_row() + at.row + i) * 4 + g) * op.hidden + unit + q * 32;
  }
  /// The elements of such rows from element (begin, 0) on; zero outside and where they are null.
  template <int R>
  __device__ void read(const T* from, int begin, T (&to)[R][2]) const {
#pragma unroll
    for (int i = 0; i < R; ++i) {
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        to[i][q] = from != nullptr && inside(begin + i, q) ? from[place(begin + i, q)] : T{0};
      }
    }
  }
};

/// Activated gates: gate g of element (i, q) at [i][q * 4 + g].
template <class T>
__device__ void compute_gates(const UnitTile<T>& tile, GatePanel<T>& shared, T (&gate)[4][8]) {
  const Lstm<T>& op = tile.op;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int u = tile.unit + j / 4 * 32;
    const T bias = u < op.hidden ? op.bias[j % 4 * op.hidden + u] : T{0};
#pragma unroll
    for (int i = 0; i < 4; ++i) gate[i][j] = bias;
  }
  const T* const h = op.h_before(tile.t, tile.first);
  const std::int64_t row = tile.first_row();
  const int right = op.inputs - op.left;
  const JoinedRows<T> rows{{op.x + row * op.left, op.left, op.left},
                           {right > 0 ? op.x_right + row * right : nullptr, right, right},
                           {h, op.hidden, op.hidden},
                           tile.count};
  const T* const panel =
      op.packed + static_cast<std::int64_t>(tile.unit / panel_units) * op.inner * GatePanel<T>::columns;
  using P = GatePanel<T>;
  multiply_panel(shared, slices_of<P>(h == nullptr ? op.inputs : op.inputs + op.hidden), RowSlices<P>{rows},
                 PackedSlices<P>{panel}, gate, [](int) {});
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) gate[i][j] = j % 4 == 2 ? squash_both(gate[i][j]) : squash(gate[i][j]);
  }
}

/// w_x and below it w_h, by units with their gates side by side.
template <class T>
struct UnitWeights {
  const T *w_x, *w_h;
  std::int64_t inputs, hidden;

  __device__ T at(std::int64_t panel, std::int64_t k, int position) const {
    const std::int64_t unit = panel * panel_units + position / 4, column = position % 4 * hidden + unit;
    if (unit >= hidden || k >= inputs + hidden) return T{0};
    return k < inputs ? w_x[k * 4 * hidden + column] : w_h[(k - inputs) * 4 * hidden + column];
  }
};

template <class T, class Op>
Lstm<T> arrays_of(const Op& op, const T* packed) {
  const std::int64_t inner = padded_inner<GatePanel<T>>(op.w_x.rows() + op.w_h.rows());
  return {op.x.template data<T>(),
          op.x_right.template data<T>(),
          op.bias.template data<T>(),
          op.start.template data<T>(),
          op.y.template data<T>(),
          op.cells.template data<T>(),
          op.gates.template data<T>(),
          packed,
          op.vertices(),
          op.steps,
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.w_x.rows()),
          static_cast<int>(op.w_h.rows()),
          static_cast<int>(inner)};
}

template <class T, class Op>
void pack_units(const KernelContext& context, const Op& op, T* packed) {
  const UnitWeights<T> weights{op.w_x.template data<T>(), op.w_h.template data<T>(), op.w_x.rows(), op.w_h.rows()};
  launch_packing<GatePanel<T>>(context, weights, padded_inner<GatePanel<T>>(op.w_x.rows() + op.w_h.rows()),
                               divide_up(op.w_h.rows(), panel_units), packed);
}
template <class T, class Op>
std::size_t unit_bytes(const Op& op) {
  const std::int64_t inner = padded_inner<GatePanel<T>>(op.w_x.rows() + op.w_h.rows());
  return scratch_part(divide_up(op.w_h.rows(), panel_units) * inner * GatePanel<T>::columns, sizeof(T));
}

}  // namespace lstm_products
}  // namespace strobe::cuda
