// Plain transposition of blocks of rows, element by element. Cost: each value read and written once (twice read where
// added).
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 1 << 8;

template <class T>
void transpose(const TransposeBlocks& op, const KernelContext& context) {
  const std::int64_t rows = op.y.columns(), columns = op.x.columns();  // of a block of x
  const T* const x = op.x.data<T>();
  T* const y = op.y.data<T>();
  cpu::for_ranges(context, op.y.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* const column = x + i / columns * rows * columns + i % columns;
      for (std::int64_t r = 0; r < rows; ++r) {
        T& to = y[i * rows + r];
        to = op.accumulate ? to + column[r * columns] : column[r * columns];
      }
    }
  });
}

void run_transpose(const TransposeBlocks& op, KernelContext& context) {
  cpu::with_element(op.x.type(), [&](auto zero) { transpose<decltype(zero)>(op, context); });
}

const RegisterKernel<TransposeBlocks> plain_transpose{"cpu", {"plain", 0, nullptr, run_transpose}};

}  // namespace
}  // namespace strobe
