// Plain joining and splitting of columns, block by block. Cost: each value read and written once.
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 1 << 12;

template <class T>
void join(const JoinColumns& op, const KernelContext& context) {
  const std::int64_t columns = op.whole.columns();
  std::int64_t first = 0;
  for (const Tensor& part : op.parts) {
    const std::int64_t width = part.columns();
    cpu::for_ranges(context, part.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t c = 0; c < width; ++c)
          op.whole.data<T>()[r * columns + first + c] = part.data<T>()[r * width + c];
      }
    });
    first += width;
  }
}

template <class T>
void split(const SplitColumns& op, const KernelContext& context) {
  const std::int64_t columns = op.whole.columns();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < op.parts.size(); first += op.widths[i], ++i) {
    if (!op.parts[i].defined()) continue;
    const std::int64_t width = op.widths[i];
    cpu::for_ranges(context, op.whole.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t c = 0; c < width; ++c) {
          T& to = op.parts[i].data<T>()[r * width + c];
          const T value = op.whole.data<T>()[r * columns + first + c];
          to = op.accumulate[i] ? to + value : value;
        }
      }
    });
  }
}

void run_join(const JoinColumns& op, KernelContext& context) {
  cpu::with_element(op.whole.type(), [&](auto zero) { join<decltype(zero)>(op, context); });
}

void run_split(const SplitColumns& op, KernelContext& context) {
  cpu::with_element(op.whole.type(), [&](auto zero) { split<decltype(zero)>(op, context); });
}

const RegisterKernel<JoinColumns> plain_join{"cpu", {"plain", 0, nullptr, run_join}};
const RegisterKernel<SplitColumns> plain_split{"cpu", {"plain", 0, nullptr, run_split}};

}  // namespace
}  // namespace strobe
