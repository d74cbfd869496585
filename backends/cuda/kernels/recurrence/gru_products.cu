// Gated recurrent unit over all steps for wide states, as products of tiles (recurrent_products.hpp). A block takes 32
// vertices through all steps, so that steps need neither launches nor exchanges between blocks. A step is three
// products for 64 units at a time, [x_t | h_{t-1}] with the weights of r and z, then, when r h_{t-1} is there for all
// units, [x_t | r h_{t-1}] with those of n. Until then z lies where h_t will. Weights are packed once a call.
// Cost: two launches; x, y and kept gates once; h values of scratch a vertex, and the weights with their units rounded
// up to 64. A step of a block has 32 * 6 h (F + h) FLOPs: for F = h = 64 some 6100 cycles of an SM at one multiply-add
// a lane and cycle, and three times some 1000 in which it waits for a product's first slice and its last sums. Shared
// memory: 33 KiB, of doubles 41.
#include "backends/cuda/kernels/recurrence/gru_products.hpp"

namespace strobe::cuda {
namespace gru_products_kernels {

using namespace gru_products;

/// Gate g of a tile and what follows from it: r h, z, or n and h_t.
template <class T>
__device__ void finish_gate(const Gru<T>& op, const ColumnTile<T>& tile, int g, const T (&gate)[2][4]) {
  const std::int64_t row = tile.t * op.n + tile.first;
  T* const y = op.y + row * op.hidden;
  T h[2][4], z[2][4];
  if (g != 1) tile.read(op.h_before(tile.t, tile.first), op.hidden, h);
  if (g == 2) tile.read(y, op.hidden, z);
  tile.each([&](int i, int c) {
    const std::int64_t at = tile.place(i, c, op.hidden);
    if (g == 0) op.reset_of(tile.t, tile.first)[at] = gate[i][c] * h[i][c];
    if (g == 1) y[at] = gate[i][c];
    if (g == 2) y[at] = z[i][c] * h[i][c] + (T{1} - z[i][c]) * gate[i][c];
    if (op.gates != nullptr) op.gates[(row * 3 + g) * op.hidden + tile.place(i, c, 3 * op.hidden)] = gate[i][c];
  });
}

template <class T>
__global__ void __launch_bounds__(panel_threads, panel_blocks<T>) forward(Gru<T> op) {
  STROBE_SHARED(ColumnPanel<T>, shared);
  for (std::int64_t t = 0; t < op.steps; ++t) {
#pragma unroll 1
    for (int i = 0; i < 3 * op.tiles(); ++i) {
      const int g = i / op.tiles();
      if (i == 2 * op.tiles()) __syncthreads();  // r h is there
      const ColumnTile<T> tile(op, t, i % op.tiles(), op.hidden);
      T gate[2][4];
      compute_gate(op, tile, g, shared, gate);
      finish_gate(op, tile, g, gate);
    }
    __syncthreads();  // h_t is there
  }
}

void run(const GruSequence& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t n = op.vertices();
    if (n == 0) return;
    const std::size_t reset_bytes = scratch_part(n * op.w_h.columns(), sizeof(T));
    std::byte* const scratch = context.scratch(reset_bytes + gate_bytes<T>(op));
    T* const packed = reinterpret_cast<T*>(scratch + reset_bytes);
    pack_gates(context, op, packed);
    launch(context, divide_up(n, panel_vertices), panel_threads, 0, forward<T>,
           arrays_of<T>(op, reinterpret_cast<T*>(scratch), packed));
  });
}

bool supports(const GruSequence& op) { return without_restarts(op) && wants_panels(inputs_of(op), op.w_h.columns()); }

const RegisterKernel<GruSequence> products{"cuda", {"products", 2, supports, run}};

}  // namespace gru_products_kernels
}  // namespace strobe::cuda
