// LSTM over all steps for wide states, as products of tiles (recurrent_products.hpp). A block takes 32 vertices through
// all steps, so that steps need neither launches nor exchanges between blocks: a step is the product [x_t | h_{t-1}]
// [w_x ; w_h] for 64 units at a time, whose four gates a thread has in registers and turns into c_t and h_t at once.
// Weights are packed once a call. Cost: two launches; x, y, cells and kept gates once; of scratch the weights with
// their units rounded up to 64. A step of a block has 32 * 8 h (F + h) FLOPs: for F = h = 64 some 8200 cycles of an SM
// at one multiply-add a lane and cycle, in which the weights come at 16 bytes a cycle from the caches, and some 2000
// for the gates. Shared memory: 37 KiB.
#include "backends/cuda/kernels/recurrence/lstm_products.hpp"

namespace strobe::cuda {
namespace lstm_products_kernels {

using namespace lstm_products;

/// c_t and h_t.
template <class T>
__device__ void finish_units(const UnitTile<T>& tile, const T (&gate)[4][8], const T (&before)[4][2]) {
  const Lstm<T>& op = tile.op;
  T *const y = op.y + tile.first_row() * op.hidden, *const cells = op.cells + tile.first_row() * op.hidden;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (!tile.inside(i, q)) continue;
      const T* const own = gate[i] + q * 4;
      const T cell = own[1] * before[i][q] + own[0] * own[2];
      cells[tile.place(i, q)] = cell;
      y[tile.place(i, q)] = own[3] * squash_both(cell);
#pragma unroll
      for (int g = 0; g < 4; ++g) {
        if (op.gates != nullptr) op.gates[tile.gate_place(i, q, g)] = own[g];
      }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(panel_threads, panel_blocks<T>) forward(Lstm<T> op) {
  STROBE_SHARED(GatePanel<T>, shared);
  for (std::int64_t t = 0; t < op.steps; ++t) {
    for (int i = 0; i < op.tiles(); ++i) {
      const UnitTile<T> tile(op, t, i);
      T gate[4][8], before[4][2];
      tile.read(op.c_before(t, tile.first), 0, before);
      compute_gates(tile, shared, gate);
      finish_units(tile, gate, before);
    }
    __syncthreads();  // h_t is there
  }
}

void run_forward(const LstmSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.vertices();
    if (n == 0) return;
    T* const packed = reinterpret_cast<T*>(context.scratch(unit_bytes<T>(op)));
    pack_units(context, op, packed);
    launch(context, divide_up(n, panel_vertices), panel_threads, 0, forward<T>, arrays_of<T>(op, packed));
  });
}

bool supports(const LstmSequence& op) {
  return without_restarts(op) && !op.w_in.defined() && wants_panels(op.w_x.rows(), op.w_h.rows());
}

const RegisterKernel<LstmSequence> products{"cuda", {"products", 2, supports, run_forward}};

}  // namespace lstm_products_kernels
}  // namespace strobe::cuda
