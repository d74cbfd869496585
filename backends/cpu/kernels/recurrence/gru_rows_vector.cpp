// GRU over all steps by rows, for states of whole panels (recurrent_rows.hpp): a tile of 96 vertices walks through
// time, 24 of them at a time, whose gates are rows [24, 3 h] in cache. x is read, and states and gates are written, as
// they lie in memory; the states of the step before are read back from y while the caches hold them. Cost 6 h (F + h)
// FLOPs and 3 h activations a cell.
#include "backends/cpu/kernels/recurrence/gru_rows.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
struct Walk {
  const GruSequence& op;
  const GruSizes& sizes;
  const GruRowWeights<T>& weights;
  Scratch<T> gates, reset;
  StatesBefore<T> h_before;
  LinesAhead ahead;

  Walk(const GruSequence& operation, const GruSizes& shape, const GruRowWeights<T>& packed)
      : op(operation),
        sizes(shape),
        weights(packed),
        gates(recurrent_block_rows * 3 * sizes.hidden),
        reset(recurrent_block_rows * sizes.hidden),
        h_before(op, op.y, 0, recurrent_block_rows, 1) {}
};

/// One step of the block `at`; `next` is the block that the walk visits afterwards.
template <class T>
void step_block(Walk<T>& walk, const NextStrip& at, const NextStrip& next) {
  constexpr int P = most_lanes<T>;
  const GruSequence& op = walk.op;
  const std::int64_t n = walk.sizes.n, hidden = walk.sizes.hidden, row = at.step * n + at.vertex, width = 3 * hidden;
  const std::int64_t rows = at.rows;
  walk.ahead.clear();
  for (const Tensor* tensor : {&op.x, &op.y}) walk.ahead.add(next, n, *tensor);
  const GruRowBlock<T> block{op.x.data<T>() + row * walk.sizes.columns, rows,
                             walk.h_before.rows(op, at.step, at.vertex, rows)};
  gates_of_rows(walk.sizes, walk.weights, block, walk.ahead, walk.gates.data(), walk.reset.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    const T *own = walk.gates.data() + r * width, *before = block.h_before.row(r);
    T* const y = op.y.data<T>() + (row + r) * hidden;
    for (std::int64_t i = 0; i < hidden; i += P) {
      const Register<T> z = load<T, P>(own + hidden + i), fresh = load<T, P>(own + 2 * hidden + i);
      store_first<T, P>(y + i, fresh + z * (load<T, P>(before + i) - fresh), P);
    }
    if (op.gates.defined()) keep_values<T>(own, op.gates.data<T>() + (row + r) * width, width);
  }
}

void run(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const GruSizes sizes(op);
    const GruRowWeights<T> weights(op, sizes);
    for_ranges(context, op.vertices(), recurrent_tile_rows, [&](std::int64_t begin, std::int64_t end) {
      Walk<T> walk(op, sizes, weights);
      walk_rows(op, begin, end, [&](const NextStrip& at, const NextStrip& next) { step_block(walk, at, next); });
    });
  });
}

const RegisterKernel<GruSequence> rows{"cpu", {"rows", 15, serves_rows<GruSequence>, run}};

}  // namespace
}  // namespace strobe
