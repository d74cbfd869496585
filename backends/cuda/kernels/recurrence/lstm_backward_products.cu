// Backward of the LSTM through all steps for wide states, as products of tiles (recurrent_products.hpp). A block takes
// 32 vertices back through the steps: the gates are read or computed again, dz_t goes to scratch memory and from there
// into dh_{t-1} = dz_t w_h^T and dx_t = dz_t w_x^T, 64 columns at a time; recurrent_weight_sums then adds up [x_t |
// h_{t-1} | 1]^T dz_t over as many steps as 256 MiB of scratch memory hold. Cost: two launches for every such chunk of
// steps and up to three besides; x, y, cells, gates, dy once, dx once, dz (4 h values a row) written once, read at once
// by its block and later once per 128 columns of x and h. A step of a block has 32 * 8 h (F + h) FLOPs, as forward,
// twice that where the gates are computed again; the weight sums have as many for all blocks together. Shared memory:
// 41 KiB.
#include "backends/cuda/kernels/recurrence/lstm_products.hpp"

namespace strobe::cuda {
namespace lstm_backward_products_kernels {

using namespace lstm_products;

/// Additional arrays of the backward pass, and the steps [begin, end) of a chunk: dz [chunk, 4 h], dh and dc [n, h];
/// the weights once more, in panels of 64 rows of w_h followed by those of w_x.
template <class T>
struct Gradients {
  const T *dy, *dlast, *packed;
  T *dx, *dx_right, *dz, *dh, *dc;
  std::int64_t begin, end;
  int inner;
  bool add_dx, add_dx_right, wants_start;

  __device__ T* dz_of(const Lstm<T>& op, std::int64_t t, std::int64_t v) const {
    return dz + ((t - begin) * op.n + v) * 4 * op.hidden;
  }
};

/// The shared memory of both products, which a barrier separates.
template <class T>
union Panels {
  GatePanel<T> gates;
  ColumnPanel<T> columns;
};

template <class T>
__device__ void read_gates(const UnitTile<T>& tile, T (&gate)[4][8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      gate[i][j] = tile.inside(i, j / 4) ? tile.op.gates[tile.gate_place(i, j / 4, j % 4)] : T{0};
    }
  }
}

/// dz of a tile's units in two of its rows from `begin` on; leaves the gradient of c_{t-1} in dc.
template <class T>
__device__ void units_back(const UnitTile<T>& tile, const Gradients<T>& to, int begin, const T (&gate)[4][8]) {
  const Lstm<T>& op = tile.op;
  const std::int64_t block = tile.first * op.hidden, row = tile.first_row() * op.hidden;
  const bool last = tile.t + 1 == op.steps;
  T cell[2][2], before[2][2], dy[2][2], dh[2][2], dc[2][2];
  tile.read(op.cells + row, begin, cell);
  tile.read(op.c_before(tile.t, tile.first), begin, before);
  tile.read(to.dy + row, begin, dy);
  tile.read(last ? nullptr : to.dh + block, begin, dh);
  tile.read(!last ? to.dc + block : to.dlast == nullptr ? nullptr : to.dlast + block, begin, dc);
  T* const dz = to.dz_of(op, tile.t, tile.first);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (!tile.inside(begin + i, q)) continue;
      const T* const own = gate[begin + i] + q * 4;
      const T squashed = squash_both(cell[i][q]), d = dh[i][q] + dy[i][q];
      const T dcell = dc[i][q] + d * own[3] * (T{1} - squashed * squashed);
      T* const out = dz + static_cast<std::int64_t>(tile.at.row + begin + i) * 4 * op.hidden + tile.unit + q * 32;
      out[0] = dcell * own[2] * own[0] * (T{1} - own[0]);
      out[op.hidden] = dcell * before[i][q] * own[1] * (T{1} - own[1]);
      out[2 * op.hidden] = dcell * own[0] * (T{1} - own[2] * own[2]);
      out[3 * op.hidden] = d * squashed * own[3] * (T{1} - own[3]);
      to.dc[block + tile.place(begin + i, q)] = dcell * own[1];
    }
  }
}

/// Column `column` of panel `panel` of a step's products with dz: of dh, or of dx and dx_right.
template <class T>
__device__ void put_gradient(const Lstm<T>& op, const Gradients<T>& to, std::int64_t t, std::int64_t v, int panel,
                             int column, T value) {
  if (panel < op.tiles()) {
    const int u = panel * static_cast<int>(panel_units) + column;
    if (u < op.hidden) to.dh[v * op.hidden + u] = value;
    return;
  }
  const int f = (panel - op.tiles()) * static_cast<int>(panel_units) + column;
  if (f >= op.inputs) return;
  const bool left = f < op.left;
  T* const out = left ? to.dx : to.dx_right;
  if (out == nullptr) return;
  const std::int64_t row = t * op.n + v;
  T& dx = out[left ? row * op.left + f : row * (op.inputs - op.left) + f - op.left];
  dx = (left ? to.add_dx : to.add_dx_right) ? dx + value : value;
}

template <class T>
__device__ void through_weights(const Lstm<T>& op, const Gradients<T>& to, std::int64_t t, ColumnPanel<T>& shared) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * panel_vertices;
  const int count = static_cast<int>(min(panel_vertices, op.n - first)), width = 4 * op.hidden;
  const JoinedRows<T> rows{{to.dz_of(op, t, first), width, width}, {}, {}, count};
  const PanelPlace<ColumnPanel<T>> at;
  const bool wants_inputs = to.dx != nullptr || to.dx_right != nullptr;
  const int input_tiles = (op.inputs + static_cast<int>(panel_units) - 1) / static_cast<int>(panel_units);
  const int end = op.tiles() + (wants_inputs ? input_tiles : 0);
#pragma unroll 1
  for (int panel = t > 0 || to.wants_start ? 0 : op.tiles(); panel < end; ++panel) {
    T own[2][4];
    multiply_columns(shared, width, rows, to.packed + std::int64_t{panel} * to.inner * ColumnPanel<T>::columns, own);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = at.row + at.part * 2 + i;
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (row < count) put_gradient(op, to, t, first + row, panel, at.column + 16 * c, own[i][c]);
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(panel_threads, panel_blocks<T>) backward(Lstm<T> op, Gradients<T> to) {
  STROBE_SHARED(Panels<T>, shared);
  for (std::int64_t t = to.end - 1; t >= to.begin; --t) {
#pragma unroll 1
    for (int i = 0; i < op.tiles(); ++i) {
      const UnitTile<T> tile(op, t, i);
      T gate[4][8];
      if (op.gates != nullptr) {
        read_gates(tile, gate);
      } else {
        compute_gates(tile, shared.gates, gate);
      }
      units_back(tile, to, 0, gate);
      units_back(tile, to, 2, gate);
    }
    __syncthreads();  // dz_t is there
    through_weights(op, to, t, shared.columns);
    __syncthreads();  // dh_{t-1} is there
  }
}

/// Rows of w_h and w_x as columns, 64 at a time.
template <class T>
struct WeightRows {
  const T *w_x, *w_h;
  std::int64_t inputs, hidden, tiles;

  __device__ T at(std::int64_t panel, std::int64_t k, int position) const {
    const bool state = panel < tiles;
    const std::int64_t row = (state ? panel : panel - tiles) * panel_units + column_at(position);
    if (k >= 4 * hidden || row >= (state ? hidden : inputs)) return T{0};
    return (state ? w_h : w_x)[row * 4 * hidden + k];
  }
};

/// `rows` are the packed weights, `inner` their rows; dz [chunk, n, 4 h], dh and dc [n, h].
template <class T>
Gradients<T> gradients_of(const LstmSequenceBackward& op, const T* rows, T* dz, T* dh, T* dc, int inner) {
  return {op.dy.data<T>(),
          op.dlast.data<T>(),
          rows,
          op.dx.data<T>(),
          op.dx_right.data<T>(),
          dz,
          dh,
          dc,
          0,
          op.steps,
          inner,
          op.accumulate_dx,
          op.accumulate_dx_right,
          op.dstart.defined()};
}

template <class T>
void run_backward_as(const LstmSequenceBackward& op, const KernelContext& context) {
  const std::int64_t n = op.vertices(), hidden = op.w_h.rows(), inputs = op.w_x.rows(), width = 4 * hidden;
  if (n == 0) return;
  const std::int64_t chunk = steps_of_chunk(op.steps, n, width * static_cast<std::int64_t>(sizeof(T)));
  const RowParts parts = recurrent_parts(chunk * n, inputs + hidden, 4, hidden);
  const std::int64_t inner = padded_inner<ColumnPanel<T>>(width), tiles = divide_up(hidden, panel_units),
                     panels = tiles + divide_up(inputs, panel_units), stride = recurrent_stride(op);
  const bool has_start = op.dstart.defined();
  const std::size_t sum_bytes = scratch_part(parts.count * stride, sizeof(double)),
                    unit_part = op.gates.defined() ? 0 : unit_bytes<T>(op),
                    row_part = scratch_part(panels * inner * ColumnPanel<T>::columns, sizeof(T)),
                    dz_part = scratch_part(chunk * n * width, sizeof(T)),
                    state_part = has_start ? 0 : scratch_part(n * hidden, sizeof(T));
  std::byte* const scratch = context.scratch(sum_bytes + unit_part + row_part + dz_part + 2 * state_part);
  T* const units = reinterpret_cast<T*>(scratch + sum_bytes);
  T* const rows = reinterpret_cast<T*>(scratch + sum_bytes + unit_part);
  T* const dz = reinterpret_cast<T*>(scratch + sum_bytes + unit_part + row_part);
  std::byte* const states = scratch + sum_bytes + unit_part + row_part + dz_part;
  T* const dh = has_start ? op.dstart.data<T>() : reinterpret_cast<T*>(states);
  T* const dc = has_start ? dh + n * hidden : reinterpret_cast<T*>(states + state_part);
  if (!op.gates.defined()) pack_units(context, op, units);
  launch_packing<ColumnPanel<T>>(context, WeightRows<T>{op.w_x.data<T>(), op.w_h.data<T>(), inputs, hidden, tiles},
                                 inner, panels, rows);
  const Lstm<T> arrays = arrays_of<T>(op, units);
  const Gradients<T> to = gradients_of(op, rows, dz, dh, dc, static_cast<int>(inner));
  const RecurrentTerms<T> terms = terms_of<T>(op, 4, parts, reinterpret_cast<double*>(scratch), dz, nullptr);
  run_chunks(context, chunk, backward<T>, arrays, to, terms);
  add_recurrent_parts<T>(context, op, terms.sums, parts.count);
}

void run_backward(const LstmSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

bool supports(const LstmSequenceBackward& op) {
  return without_restarts(op) && !op.w_in.defined() && wants_panels(op.w_x.rows(), op.w_h.rows());
}

const RegisterKernel<LstmSequenceBackward> products{"cuda", {"products", 2, supports, run_backward}};

}  // namespace lstm_backward_products_kernels
}  // namespace strobe::cuda
