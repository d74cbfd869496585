// Shared by forward and backward of the GRU as products of tiles: one gate of 32 vertices and 64 units at one step,
// the product [x_t of the gate | state] [w_x ; w_h] of the gate, where the state is h_{t-1} for the gates r and z and
// r h_{t-1} for the gate n.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_products.hpp"

namespace strobe::cuda {
namespace gru_products {

/// Device arrays and sizes; null where the operation has none. Gate g reads x[own g, own g + inputs).
template <class T>
struct Gru {
  const T *x, *bias, *start;
  T *y, *gates;
  T* reset;         // r h_{t-1} of the steps from `reset_begin` on, or of the present one where that is negative
  const T* packed;  // a panel of `inner` rows for every gate and 64 units
  std::int64_t n, steps, reset_begin;
  int columns, inputs, own, hidden, inner;

  __device__ int tiles() const { return (hidden + static_cast<int>(panel_units) - 1) / static_cast<int>(panel_units); }
  /// h_{t-1} of vertex v and the following ones; null for zero.
  __device__ const T* h_before(std::int64_t t, std::int64_t v) const {
    if (t > 0) return y + ((t - 1) * n + v) * hidden;
    return start == nullptr ? nullptr : start + v * hidden;
  }
  __device__ T* reset_of(std::int64_t t, std::int64_t v) const {
    return reset + ((reset_begin < 0 ? 0 : t - reset_begin) * n + v) * hidden;
  }
};

/// A block's vertices at one step, and 64 columns of theirs: element (i, c) of a thread is vertex row + i, column
/// `column` + 16 c.
template <class T>
struct ColumnTile {
  std::int64_t t, first;
  int count, width, row, column;

  /// A tile of `columns` columns altogether.
  __device__ ColumnTile(const Gru<T>& op, std::int64_t step, int tile, int columns)
      : t(step),
        first(static_cast<std::int64_t>(blockIdx.x) * panel_vertices),
        count(static_cast<int>(min(panel_vertices, op.n - first))),
        width(columns) {
    const PanelPlace<ColumnPanel<T>> at;
    row = at.row + at.part * 2;
    column = tile * static_cast<int>(panel_units) + at.column;
  }
  __device__ bool inside(int i, int c) const { return row + i < count && column + 16 * c < width; }
  /// The place of an element in rows `apart` values apart that begin with the block's first vertex.
  __device__ std::int64_t place(int i, int c, int apart) const {
    return static_cast<std::int64_t>(row + i) * apart + column + 16 * c;
  }
  /// The elements of such rows; zero outside and where they are null.
  __device__ void read(const T* from, int apart, T (&to)[2][4]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) to[i][c] = from != nullptr && inside(i, c) ? from[place(i, c, apart)] : T{0};
    }
  }
  /// Calls body(i, c) for the elements that are there.
  template <class Body>
  __device__ void each(const Body& body) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (inside(i, c)) body(i, c);
      }
    }
  }
};

/// Activated gate g of a tile.
template <class T>
__device__ void compute_gate(const Gru<T>& op, const ColumnTile<T>& tile, int g, ColumnPanel<T>& shared,
                             T (&gate)[2][4]) {
  const T* const h = op.h_before(tile.t, tile.first);
  const T* const state = h != nullptr && g == 2 ? op.reset_of(tile.t, tile.first) : h;
  const JoinedRows<T> rows{{op.x + (tile.t * op.n + tile.first) * op.columns + g * op.own, op.inputs, op.columns},
                           {state, op.hidden, op.hidden},
                           {},
                           tile.count};
  const std::int64_t panel = g * op.tiles() + tile.column / static_cast<int>(panel_units);
  multiply_columns(shared, state == nullptr ? op.inputs : op.inputs + op.hidden, rows,
                   op.packed + panel * op.inner * ColumnPanel<T>::columns, gate);
  tile.each([&](int i, int c) {
    const T sum = gate[i][c] + op.bias[g * op.hidden + tile.column + 16 * c];
    gate[i][c] = g == 2 ? squash_both(sum) : squash(sum);
  });
}

/// w_x and below it w_h of a gate; a panel for every gate and 64 units.
template <class T>
struct GateWeights {
  const T *w_x, *w_h;
  std::int64_t inputs, hidden, tiles;

  __device__ T at(std::int64_t panel, std::int64_t k, int position) const {
    const std::int64_t gate = panel / tiles, unit = panel % tiles * panel_units + column_at(position);
    if (unit >= hidden || k >= inputs + hidden) return T{0};
    return k < inputs ? w_x[(gate * inputs + k) * hidden + unit] : w_h[(gate * hidden + k - inputs) * hidden + unit];
  }
};

template <class Op>
std::int64_t inputs_of(const Op& op) {
  return op.w_x.rows() / 3;
}

template <class T, class Op>
Gru<T> arrays_of(const Op& op, T* reset, const T* packed) {
  const std::int64_t inputs = inputs_of(op), hidden = op.w_h.columns();
  return {op.x.template data<T>(),
          op.bias.template data<T>(),
          op.start.template data<T>(),
          op.y.template data<T>(),
          op.gates.template data<T>(),
          reset,
          packed,
          op.vertices(),
          op.steps,
          -1,
          static_cast<int>(op.x.columns()),
          static_cast<int>(inputs),
          op.x.columns() == 3 * inputs ? static_cast<int>(inputs) : 0,
          static_cast<int>(hidden),
          static_cast<int>(padded_inner<ColumnPanel<T>>(inputs + hidden))};
}

template <class T, class Op>
void pack_gates(const KernelContext& context, const Op& op, T* packed) {
  const std::int64_t inputs = inputs_of(op), hidden = op.w_h.columns(), tiles = divide_up(hidden, panel_units);
  launch_packing<ColumnPanel<T>>(
      context, GateWeights<T>{op.w_x.template data<T>(), op.w_h.template data<T>(), inputs, hidden, tiles},
      padded_inner<ColumnPanel<T>>(inputs + hidden), 3 * tiles, packed);
}
template <class T, class Op>
std::size_t gate_bytes(const Op& op) {
  const std::int64_t hidden = op.w_h.columns(), tiles = divide_up(hidden, panel_units);
  return scratch_part(3 * tiles * padded_inner<ColumnPanel<T>>(inputs_of(op) + hidden) * ColumnPanel<T>::columns,
                      sizeof(T));
}

}  // namespace gru_products
}  // namespace strobe::cuda
