// Backward of the gated recurrent unit through all steps for wide states, as products of tiles
// (recurrent_products.hpp). A block takes 32 vertices back through the steps: the gates are read or computed again; dz
// of z and n follows element by element, that of r from dz_n w_h^T; then come dh_{t-1} and dx_t, 64 columns of a
// product with dz at a time. Elements of states belong to the same thread throughout, so barriers separate products
// only. recurrent_weight_sums adds up the weight gradients over as many steps as 256 MiB of scratch memory hold: for
// every row dz (3 h values) and r h_{t-1} (h). Cost: two launches for every such chunk of steps and up to three
// besides; x, y, gates, dy once, dx once, dz and r h written once and read twice. A step of a block has 32 * 6 h (F +
// h) FLOPs, as forward, twice that where the gates are computed again; the weight sums have as many for all blocks
// together. Shared memory: 33 KiB, of doubles 41.
#include "backends/cuda/kernels/recurrence/gru_products.hpp"

namespace strobe::cuda {
namespace gru_backward_products_kernels {

using namespace gru_products;

/// Additional arrays of the backward pass, and the steps [begin, end) of a chunk: dz [chunk, 3 h]; dh [n, h];
/// `computed` [n, 3 h] the step's gates when they are not kept.
template <class T>
struct Gradients {
  const T *dy, *packed;
  T *dx, *dz, *dh, *computed;
  std::int64_t begin, end;
  int inner;
  bool add_dx, wants_start;

  __device__ T* dz_of(const Gru<T>& op, std::int64_t t, std::int64_t v) const {
    return dz + ((t - begin) * op.n + v) * 3 * op.hidden;
  }
  /// Rows of gates from vertex v on.
  __device__ const T* gates_of(const Gru<T>& op, std::int64_t t, std::int64_t v) const {
    return (op.gates == nullptr ? computed : op.gates + t * op.n * 3 * op.hidden) + v * 3 * op.hidden;
  }
};

/// The left factor of a panel, and its columns: dz_n for the gradient of r h; dz_r and dz_z for that of h_{t-1}; for
/// inputs the gate's own dz, or all of them.
struct GradientPanel {
  enum Kind { reset, state, input };
  Kind kind;
  int tile, gate, inner, width;  // `inner` columns of dz from those of `gate` on

  __host__ __device__ GradientPanel(int panel, int inputs, int own, int hidden) {
    const int units = static_cast<int>(panel_units);
    const int tiles = (hidden + units - 1) / units, input_tiles = (inputs + units - 1) / units;
    kind = panel < tiles ? reset : panel < 2 * tiles ? state : input;
    const int behind = panel - 2 * tiles;
    tile = kind == input ? behind % input_tiles : panel % tiles;
    gate = kind == reset ? 2 : kind == input ? behind / input_tiles : 0;
    inner = (kind == reset || (kind == input && own > 0) ? 1 : kind == state ? 2 : 3) * hidden;
    width = kind == input ? inputs : hidden;
  }
  /// The number of panels for states, or for states and inputs.
  __host__ __device__ static int count(int inputs, int own, int hidden, bool wants_inputs) {
    const int units = static_cast<int>(panel_units), input_tiles = (inputs + units - 1) / units;
    return 2 * ((hidden + units - 1) / units) + (!wants_inputs ? 0 : own > 0 ? 3 * input_tiles : input_tiles);
  }
};

/// Rows of w_h and w_x as columns of the panels.
template <class T>
struct GradientWeights {
  const T *w_x, *w_h;
  int inputs, own, hidden;

  __device__ T at(std::int64_t index, std::int64_t k, int position) const {
    const GradientPanel panel(static_cast<int>(index), inputs, own, hidden);
    const std::int64_t column = panel.tile * panel_units + column_at(position), gate = panel.gate + k / hidden;
    if (column >= panel.width || k >= panel.inner) return T{0};
    // A separate variable: GCC 12 with the overflow sanitizer errs on (condition ? w_x : w_h)[index].
    const T* const from = panel.kind == GradientPanel::input ? w_x : w_h;
    return from[(gate * panel.width + column) * hidden + k % hidden];
  }
};

/// The step's gates once more, and r h.
template <class T>
__device__ void recompute_gates(const Gru<T>& op, const Gradients<T>& to, std::int64_t t, ColumnPanel<T>& shared) {
#pragma unroll 1
  for (int p = 0; p < 3 * op.tiles(); ++p) {
    const int g = p / op.tiles();
    if (p == 2 * op.tiles()) __syncthreads();  // r h is there
    const ColumnTile<T> tile(op, t, p % op.tiles(), op.hidden);
    T gate[2][4], h[2][4];
    compute_gate(op, tile, g, shared, gate);
    if (g == 0) tile.read(op.h_before(t, tile.first), op.hidden, h);
    T* const out = to.computed + tile.first * 3 * op.hidden + g * op.hidden;
    tile.each([&](int i, int c) {
      out[tile.place(i, c, 3 * op.hidden)] = gate[i][c];
      if (g == 0) op.reset_of(t, tile.first)[tile.place(i, c, op.hidden)] = gate[i][c] * h[i][c];
    });
  }
}

/// dz of the gates z and n of a tile, r h where it has not been computed, and in dh what the update gate lets through.
template <class T>
__device__ void units_back(const Gru<T>& op, const Gradients<T>& to, const ColumnTile<T>& tile) {
  const std::int64_t row = (tile.t * op.n + tile.first) * op.hidden;
  const int apart = 3 * op.hidden;
  const T* const gates = to.gates_of(op, tile.t, tile.first);
  T* const dh = to.dh + tile.first * op.hidden;
  T z[2][4], fresh[2][4], h[2][4], dy[2][4], d[2][4], r[2][4];
  if (op.gates != nullptr) tile.read(gates, apart, r);
  tile.read(gates + op.hidden, apart, z);
  tile.read(gates + 2 * op.hidden, apart, fresh);
  tile.read(op.h_before(tile.t, tile.first), op.hidden, h);
  tile.read(to.dy + row, op.hidden, dy);
  tile.read(tile.t + 1 == op.steps ? nullptr : dh, op.hidden, d);
  T* const dz = to.dz_of(op, tile.t, tile.first);
  tile.each([&](int i, int c) {
    const std::int64_t at = tile.place(i, c, op.hidden), out = tile.place(i, c, apart);
    const T own = d[i][c] + dy[i][c];
    dz[op.hidden + out] = own * (h[i][c] - fresh[i][c]) * z[i][c] * (T{1} - z[i][c]);
    dz[2 * op.hidden + out] = own * (T{1} - z[i][c]) * (T{1} - fresh[i][c] * fresh[i][c]);
    dh[at] = own * z[i][c];
    if (op.gates != nullptr) op.reset_of(tile.t, tile.first)[at] = r[i][c] * h[i][c];
  });
}

/// dz of the gate r from the gradient of r h, and the gradient of h_{t-1} through r h.
template <class T>
__device__ void reset_back(const Gru<T>& op, const Gradients<T>& to, const ColumnTile<T>& tile, const T (&d)[2][4]) {
  T* const dh = to.dh + tile.first * op.hidden;
  T* const dz = to.dz_of(op, tile.t, tile.first);
  T r[2][4], h[2][4], before[2][4];
  tile.read(to.gates_of(op, tile.t, tile.first), 3 * op.hidden, r);
  tile.read(op.h_before(tile.t, tile.first), op.hidden, h);
  tile.read(dh, op.hidden, before);
  tile.each([&](int i, int c) {
    dz[tile.place(i, c, 3 * op.hidden)] = d[i][c] * h[i][c] * r[i][c] * (T{1} - r[i][c]);
    dh[tile.place(i, c, op.hidden)] = before[i][c] + d[i][c] * r[i][c];
  });
}

/// Adds a product to dh, or puts it into the columns of dx that belong to `gate`.
template <class T>
__device__ void put_gradient(const Gru<T>& op, const Gradients<T>& to, const ColumnTile<T>& tile,
                             const GradientPanel& panel, const T (&d)[2][4]) {
  const bool state = panel.kind == GradientPanel::state, adds = state || to.add_dx;
  const int apart = state ? op.hidden : op.columns;
  T* const out =
      state ? to.dh + tile.first * op.hidden : to.dx + (tile.t * op.n + tile.first) * op.columns + panel.gate * op.own;
  T before[2][4];
  tile.read(adds ? out : nullptr, apart, before);
  tile.each([&](int i, int c) { out[tile.place(i, c, apart)] = adds ? before[i][c] + d[i][c] : d[i][c]; });
}

template <class T>
__device__ void through_weights(const Gru<T>& op, const Gradients<T>& to, std::int64_t t, ColumnPanel<T>& shared) {
  const int end = GradientPanel::count(op.inputs, op.own, op.hidden, to.dx != nullptr), tiles = op.tiles();
#pragma unroll 1
  for (int p = 0; p < end; ++p) {
    if (p == tiles) __syncthreads();  // dz of r is there
    const GradientPanel panel(p, op.inputs, op.own, op.hidden);
    if (panel.kind == GradientPanel::state && t == 0 && !to.wants_start) continue;
    const ColumnTile<T> tile(op, t, panel.tile, panel.width);
    const JoinedRows<T> rows{
        {to.dz_of(op, t, tile.first) + panel.gate * op.hidden, panel.inner, 3 * op.hidden}, {}, {}, tile.count};
    T d[2][4];
    multiply_columns(shared, panel.inner, rows, to.packed + std::int64_t{p} * to.inner * ColumnPanel<T>::columns, d);
    if (panel.kind == GradientPanel::reset) {
      reset_back(op, to, tile, d);
    } else {
      put_gradient(op, to, tile, panel, d);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(panel_threads, panel_blocks<T>) backward(Gru<T> op, Gradients<T> to) {
  STROBE_SHARED(ColumnPanel<T>, shared);
  for (std::int64_t t = to.end - 1; t >= to.begin; --t) {
    if (op.gates == nullptr) recompute_gates(op, to, t, shared);
    for (int i = 0; i < op.tiles(); ++i) units_back(op, to, ColumnTile<T>(op, t, i, op.hidden));
    __syncthreads();  // dz of n is there
    through_weights(op, to, t, shared);
  }
}

/// Parts of the scratch memory.
template <class T>
struct Scratch {
  std::size_t sums, gate_weights, gradient_weights, dz, reset, dh, computed;

  Scratch(const GruSequenceBackward& op, std::int64_t part_count, std::int64_t rows, std::int64_t panel_rows) {
    const std::int64_t cells = op.vertices() * op.w_h.columns();
    const bool kept = op.gates.defined();
    sums = scratch_part(part_count * recurrent_stride(op), sizeof(double));
    gate_weights = kept ? 0 : gate_bytes<T>(op);
    gradient_weights = scratch_part(panel_rows * ColumnPanel<T>::columns, sizeof(T));
    dz = scratch_part(rows * 3 * op.w_h.columns(), sizeof(T));
    reset = scratch_part(rows * op.w_h.columns(), sizeof(T));
    dh = op.dstart.defined() ? 0 : scratch_part(cells, sizeof(T));
    computed = kept ? 0 : scratch_part(3 * cells, sizeof(T));
  }
  std::size_t all() const { return sums + gate_weights + gradient_weights + dz + reset + dh + computed; }
};

template <class T>
void run_as(const GruSequenceBackward& op, const KernelContext& context) {
  const std::int64_t n = op.vertices(), hidden = op.w_h.columns(), inputs = inputs_of(op);
  if (n == 0) return;
  const std::int64_t chunk = steps_of_chunk(op.steps, n, 4 * hidden * static_cast<std::int64_t>(sizeof(T)));
  const RowParts parts = recurrent_parts(chunk * n, inputs + hidden, 3, hidden);
  const int own = op.x.columns() == 3 * inputs ? static_cast<int>(inputs) : 0;
  const GradientWeights<T> weights{op.w_x.data<T>(), op.w_h.data<T>(), static_cast<int>(inputs), own,
                                   static_cast<int>(hidden)};
  const std::int64_t inner = padded_inner<ColumnPanel<T>>(3 * hidden),
                     panels = GradientPanel::count(weights.inputs, own, weights.hidden, op.dx.defined());
  const Scratch<T> sizes(op, parts.count, chunk * n, panels * inner);
  std::byte* const scratch = context.scratch(sizes.all());
  std::byte* at = scratch + sizes.sums;
  const auto take = [&](std::size_t bytes) { return reinterpret_cast<T*>(std::exchange(at, at + bytes)); };
  T *const gate_weights = take(sizes.gate_weights), *const gradient_weights = take(sizes.gradient_weights);
  T *const dz = take(sizes.dz), *const reset = take(sizes.reset), *const dh = take(sizes.dh);
  if (!op.gates.defined()) pack_gates(context, op, gate_weights);
  launch_packing<ColumnPanel<T>>(context, weights, inner, panels, gradient_weights);
  const Gru<T> arrays = arrays_of<T>(op, reset, gate_weights);
  const Gradients<T> to{op.dy.data<T>(),
                        gradient_weights,
                        op.dx.data<T>(),
                        dz,
                        op.dstart.defined() ? op.dstart.data<T>() : dh,
                        take(sizes.computed),
                        0,
                        op.steps,
                        static_cast<int>(inner),
                        op.accumulate_dx,
                        op.dstart.defined()};
  const RecurrentTerms<T> terms = terms_of<T>(op, 3, parts, reinterpret_cast<double*>(scratch), dz, reset);
  run_chunks(context, chunk, backward<T>, arrays, to, terms);
  add_recurrent_parts<T>(context, op, terms.sums, parts.count);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_as<decltype(zero)>(op, context); });
}

bool supports(const GruSequenceBackward& op) {
  return without_restarts(op) && wants_panels(inputs_of(op), op.w_h.columns());
}

const RegisterKernel<GruSequenceBackward> products{"cuda", {"products", 2, supports, run}};

}  // namespace gru_backward_products_kernels
}  // namespace strobe::cuda
