// The transpose of a stack of snapshots on several threads: a block of rows and the columns with the same numbers are a
// matrix of their own whose entries fill the same range of positions on both sides, so every block is a task. Returns
// what the plain kernel does, entry for entry. Places are 4-byte numbers of one block, which the nearest cache holds
// where a snapshot is small. Cost: O(entries + rows); columns are read twice.
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe {
namespace {

/// Rows [first, first + rows), whose columns are numbered alike.
template <class T>
void transpose_block(const TransposeCsr& op, std::int64_t first, std::int64_t rows, std::vector<std::uint32_t>& next) {
  const std::int64_t* offsets = op.offsets.data<std::int64_t>();
  const std::int32_t* columns = op.columns.data<std::int32_t>();
  const T* values = op.values.data<T>();
  const std::int64_t begin = offsets[first], end = offsets[first + rows];
  std::int64_t* transposed = op.transposed_offsets.data<std::int64_t>() + first;
  std::int32_t* to_columns = op.transposed_columns.data<std::int32_t>() + begin;
  T* to_values = op.transposed_values.data<T>() + begin;
  next.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (std::int64_t e = begin; e < end; ++e) ++next[static_cast<std::size_t>(columns[e] - first) + 1];
  for (std::int64_t c = 0; c < rows; ++c) {
    const std::size_t column = c;
    next[column + 1] += next[column];
    transposed[c + 1] = begin + next[column + 1];
  }
  for (std::int64_t row = first; row < first + rows; ++row) {
    for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e) {
      const std::uint32_t place = next[columns[e] - first]++;
      to_columns[place] = static_cast<std::int32_t>(row);
      to_values[place] = values[e];
    }
  }
}

/// Whether the matrix is made of square blocks, whose positions 4 bytes count.
bool has_blocks(const TransposeCsr& op) {
  return op.block_rows > 0 && op.columns.rows() < (std::int64_t{1} << 32) &&
         op.offsets.rows() == op.transposed_offsets.rows() && (op.offsets.rows() - 1) % op.block_rows == 0;
}

void run_transpose(const TransposeCsr& op, KernelContext& context) {
  op.transposed_offsets.data<std::int64_t>()[0] = 0;
  const std::int64_t blocks = (op.offsets.rows() - 1) / op.block_rows;
  cpu::for_ranges(context, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::uint32_t> next;
    for (std::int64_t block = first; block < last; ++block) {
      cpu::with_element(op.values.type(), [&](auto zero) {
        transpose_block<decltype(zero)>(op, block * op.block_rows, op.block_rows, next);
      });
    }
  });
}

const RegisterKernel<TransposeCsr> transpose_parallel{"cpu", {"parallel", 10, has_blocks, run_transpose}};

}  // namespace
}  // namespace strobe
