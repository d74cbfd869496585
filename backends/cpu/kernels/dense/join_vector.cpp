// Vector joining and splitting of columns: a few rows at a time over all blocks, so that each line of the wide matrix
// passes the cache once however many blocks share it. Ranges of rows are tasks. Cost: each value read and written once,
// a partial load and store per block's row.
#include <vector>

#include "backends/cpu/kernels/dense/column_parts.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 1 << 11;

void run_join(const JoinColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::vector<Part<T>> parts = column_parts<T>(op.parts);
    for_ranges(context, op.whole.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      join_rows<T>(parts, op.whole.data<T>() + begin * op.whole.columns(), op.whole.columns(), begin, end);
    });
  });
}

void run_split(const SplitColumns& op, KernelContext& context) {
  with_element(op.whole.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<Part<T>> parts;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < op.parts.size(); first += op.widths[i], ++i) {
      if (op.parts[i].defined()) parts.push_back({op.parts[i].data<T>(), op.widths[i], first, op.accumulate[i]});
    }
    for_ranges(context, op.whole.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      split_rows<T>(parts, op.whole.data<T>() + begin * op.whole.columns(), op.whole.columns(), begin, end);
    });
  });
}

const RegisterKernel<JoinColumns> vector_join{"cpu", {"vector", 10, nullptr, run_join}};
const RegisterKernel<SplitColumns> vector_split{"cpu", {"vector", 10, nullptr, run_split}};

}  // namespace
}  // namespace strobe
