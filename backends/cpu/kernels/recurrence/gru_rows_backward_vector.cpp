// GRU backward through all steps by rows, for states of whole panels (gru_rows.hpp): a tile of 96 vertices walks back
// through time with the gradient of the state as rows in cache, 24 vertices at a time. The gates are read where the
// forward pass kept them, else computed once more. The gates' gradients of a tile are rows [96, 3 h] in cache, from
// which dx, the gradient of the state before and, over the tile, the weight gradients are made (strip_sums.hpp).
// Cost 6 h (2 h + 2 F) FLOPs a cell, 6 h (h + F) and 3 h activations more without kept gates.
#include <optional>

#include "backends/cpu/kernels/recurrence/gru_rows.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// The weights as this pass multiplies with them: w^T of every gate, and w where gates are computed once more.
template <class T>
struct BackWeights {
  std::optional<GruRowWeights<T>> again;
  std::array<PackedColumns<T>, 3> to_x, to_h;

  BackWeights(const GruSequenceBackward& op, const GruSizes& sizes) {
    const std::int64_t h = sizes.hidden, inputs = sizes.inputs;
    if (!op.gates.defined()) again.emplace(op, sizes);
    for (std::size_t g = 0; g < 3; ++g) {
      const std::int64_t gate = g;
      to_h[g] = PackedColumns<T>::turned(op.w_h.data<T>() + gate * h * h, h, h);
      if (op.dx.defined()) to_x[g] = PackedColumns<T>::turned(op.w_x.data<T>() + gate * inputs * h, h, inputs);
    }
  }
};

template <class T>
struct Walk : RowsBack<T, GruSequenceBackward> {
  const GruSizes& sizes;
  const BackWeights<T>& weights;
  Scratch<T> reset, to_reset;  // of the tile and of a block, [rows, h]

  Walk(const GruSequenceBackward& operation, const GruSizes& shape, const BackWeights<T>& packed, double* total)
      : RowsBack<T, GruSequenceBackward>(operation, total),
        sizes(shape),
        weights(packed),
        reset(recurrent_tile_rows * sizes.hidden),
        to_reset(recurrent_block_rows * sizes.hidden) {}
};

/// One block of a tile: rows of the activated gates, of dy, and of what the tile keeps.
template <class T>
struct BlockBack {
  GruRowBlock<T> block;
  const T *gates, *dy;
  T *dh, *dz, *reset;
};

/// The activated gates [rows, 3 h] of a block, kept or computed once more, and r h in `reset`.
template <class T>
const T* gates_of(Walk<T>& walk, const GruRowBlock<T>& block, std::int64_t row, T* reset) {
  if (walk.op.gates.defined()) {
    const T* const kept = walk.op.gates.template data<T>() + row * 3 * walk.sizes.hidden;
    reset_states(block, walk.sizes.hidden, kept, reset);
    return kept;
  }
  gates_of_rows(walk.sizes, *walk.weights.again, block, walk.ahead, walk.gates.data(), reset);
  return walk.gates.data();
}

/// to [rows, width] (+)= the sum over gates [first, last) of dz w^T, `weights` those of every gate.
template <class T>
void multiply_back(Walk<T>& walk, const BlockBack<T>& b, const std::array<PackedColumns<T>, 3>& weights, int first,
                   int last, const RowStore<T>& store) {
  std::array<RowSource<T>, 3> sources;
  for (int g = first; g < last; ++g) {
    sources[g - first] = {b.dz + g * walk.sizes.hidden, walk.dz_stride, &weights[g]};
  }
  multiply_rows<T>(std::span<const RowSource<T>>(sources.data(), static_cast<std::size_t>(last - first)), b.block.rows,
                   walk.ahead, store);
}

/// dz of the update gate and the candidate from the gradient of h_t (dh + dy), and in dh what passes the update gate.
template <class T>
void through_update(const Walk<T>& walk, const BlockBack<T>& b) {
  constexpr int P = most_lanes<T>;
  const std::int64_t h = walk.sizes.hidden;
  for (std::int64_t r = 0; r < b.block.rows; ++r) {
    const T *gates = b.gates + r * 3 * h, *before = b.block.h_before.row(r), *dy = b.dy + r * h;
    T *dz = b.dz + r * walk.dz_stride, *dh = b.dh + r * h;
    for (std::int64_t i = 0; i < h; i += P) {
      const Register<T> z = load<T, P>(gates + h + i), fresh = load<T, P>(gates + 2 * h + i);
      const Register<T> d = load<T, P>(dh + i) + load<T, P>(dy + i);
      store_first<T, P>(dz + h + i, d * (load<T, P>(before + i) - fresh) * z * (T{1} - z), P);
      store_first<T, P>(dz + 2 * h + i, d * (T{1} - z) * (T{1} - fresh * fresh), P);
      store_first<T, P>(dh + i, d * z, P);
    }
  }
}

/// dz of the reset gate from the gradient of r h, and what passes it added to dh.
template <class T>
void through_reset(Walk<T>& walk, const BlockBack<T>& b) {
  constexpr int P = most_lanes<T>;
  const std::int64_t h = walk.sizes.hidden;
  for (std::int64_t r = 0; r < b.block.rows; ++r) {
    const T *gates = b.gates + r * 3 * h, *before = b.block.h_before.row(r), *from = walk.to_reset.data() + r * h;
    T *dz = b.dz + r * walk.dz_stride, *dh = b.dh + r * h;
    for (std::int64_t i = 0; i < h; i += P) {
      const Register<T> reset = load<T, P>(gates + i), d = load<T, P>(from + i);
      store_first<T, P>(dz + i, d * load<T, P>(before + i) * reset * (T{1} - reset), P);
      store_first<T, P>(dh + i, load<T, P>(dh + i) + d * reset, P);
    }
  }
}

/// One step of the block `at`, `first` rows into its tile: leaves dz and r h for the weight gradients, and dh for the
/// step before.
template <class T>
void step_block(Walk<T>& walk, const NextStrip& at, std::int64_t first) {
  const GruSequenceBackward& op = walk.op;
  const GruSizes& s = walk.sizes;
  const std::int64_t row = at.step * s.n + at.vertex, h = s.hidden;
  T* const reset = walk.reset.data() + first * h;
  const GruRowBlock<T> block{op.x.data<T>() + row * s.columns, at.rows, walk.before[0].from(first)};
  const BlockBack<T> b{block,
                       gates_of(walk, block, row, reset),
                       op.dy.data<T>() + row * h,
                       walk.gradients[0].data() + first * h,
                       walk.dz.data() + first * walk.dz_stride,
                       reset};
  through_update(walk, b);
  multiply_back<T>(walk, b, walk.weights.to_h, gru_candidate, 3, {walk.to_reset.data(), h, h});
  through_reset(walk, b);
  multiply_back<T>(walk, b, walk.weights.to_h, gru_reset, gru_candidate, {b.dh, h, h, true});
  if (!op.dx.defined()) return;
  T* const dx = op.dx.data<T>() + row * s.columns;
  const bool add = op.accumulate_dx;
  if (s.own == 0) return multiply_back<T>(walk, b, walk.weights.to_x, 0, 3, {dx, s.columns, s.inputs, add});
  for (int g = 0; g < 3; ++g)
    multiply_back<T>(walk, b, walk.weights.to_x, g, g + 1, {dx + g * s.inputs, s.columns, s.inputs, add});
}

/// Adds the weight gradients of step t of a tile of vertices [begin, begin + rows).
template <class T>
void add_weight_sums(Walk<T>& walk, std::int64_t t, std::int64_t begin, std::int64_t rows) {
  const GruSizes& s = walk.sizes;
  const std::int64_t h = s.hidden, behind_x = 3 * s.inputs * h;
  const T *x = walk.op.x.template data<T>() + (t * s.n + begin) * s.columns, *dz = walk.dz.data();
  const StateRows<T>& before = walk.before[0];
  for (std::int64_t g = 0; g < 3; ++g) {
    walk.sums.add(g * s.inputs * h, h, x + g * s.own, s.columns, s.inputs, dz + g * h, walk.dz_stride, h, rows);
    if (before.stride == 0) continue;  // states of zeros add nothing, nor does r h
    const T* state = g == gru_candidate ? walk.reset.data() : before.first;
    walk.sums.add(behind_x + g * h * h, h, state, h, h, dz + g * h, walk.dz_stride, h, rows);
  }
  add_column_sums(dz, walk.dz_stride, 3 * h, rows, walk.bias_total);
}

template <class T>
void walk_tile(Walk<T>& walk, std::int64_t begin, std::int64_t end) {
  const auto step = [&](const NextStrip& at, const NextStrip& next, std::int64_t first) {
    walk.look_ahead(next);
    step_block(walk, at, first);
  };
  walk_back(walk, begin, end, step, [&](std::int64_t t) { add_weight_sums(walk, t, begin, end - begin); });
}

template <class T>
void run_typed(const GruSequenceBackward& op, const KernelContext& context) {
  const GruSizes sizes(op);
  const BackWeights<T> weights(op, sizes);
  sum_weight_gradients<T>(
      op, context, [&](double* sums) { return Walk<T>(op, sizes, weights, sums); }, walk_tile<T>);
}

void run(const GruSequenceBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { run_typed<decltype(zero)>(op, context); });
}

const RegisterKernel<GruSequenceBackward> rows{"cpu", {"rows", 15, serves_rows<GruSequenceBackward>, run}};

}  // namespace
}  // namespace strobe
