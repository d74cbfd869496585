// Transposition of blocks of rows, a thread an element of the result. Made for weights, which the second-level cache
// holds: reads go across rows. Cost: each value read and written once (twice read where added).
#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace transpose_plain_kernels {

constexpr int threads = 256;

/// `rows` and `columns` are those of a block of x.
template <class T>
__global__ void transpose(const T* x, T* y, std::int64_t elements, std::int64_t rows, std::int64_t columns,
                          bool accumulate) {
  for (std::int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const std::int64_t to = i / rows, block = to / columns;
    const T value = x[(block * rows + i % rows) * columns + to % columns];
    y[i] = accumulate ? y[i] + value : value;
  }
}

void run_transpose(const TransposeBlocks& op, KernelContext& context) {
  if (op.x.elements() == 0) return;
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, transpose<T>, op.x.data<T>(), op.y.data<T>(),
           op.y.elements(), op.y.columns(), op.x.columns(), op.accumulate);
  });
}

const RegisterKernel<TransposeBlocks> plain_transpose{"cuda", {"plain", 0, nullptr, run_transpose}};

}  // namespace transpose_plain_kernels
}  // namespace strobe::cuda
