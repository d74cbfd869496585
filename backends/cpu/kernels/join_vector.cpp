// Vector joining and splitting of columns: a few rows at a time over all blocks, so that each line of the wide matrix
// passes the cache once however many blocks share it. Ranges of rows are tasks. Cost: each value read and written once,
// a partial load and store per block's row.
#include <vector>

#include "backends/cpu/kernels/column_parts.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 1 << 11;

/// part += rows of `whole`, from the one at `from` on.
template <class T>
void add_columns(const T* from, std::int64_t stride, T* part, std::int64_t width, std::int64_t rows) {
  if (add_by_array<T>(width)) {
    alignas(64) T added[most_added];
    const std::int64_t some = most_added / width;
    for (std::int64_t first = 0; first < rows; first += some) {
      const std::int64_t count = std::min(some, rows - first);
      copy_columns(from + first * stride, stride, static_cast<T*>(added), width, width, count);
      add_values(static_cast<const T*>(added), part + first * width, count * width);
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) add_values(from + r * stride, part + r * width, width);
}

template <class T>
void split_rows(const std::vector<Part<T>>& parts, const T* whole, std::int64_t columns, std::int64_t begin,
                std::int64_t end) {
  const std::int64_t some = rows_at_once(columns);
  for (std::int64_t row = begin; row < end; row += some) {
    const std::int64_t rows = std::min(some, end - row);
    for (const Part<T>& part : parts) {
      const T* from = whole + row * columns + part.first;
      T* to = part.data + row * part.width;
      part.accumulate ? add_columns(from, columns, to, part.width, rows)
                      : copy_columns(from, columns, to, part.width, part.width, rows);
    }
  }
}

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
      split_rows<T>(parts, op.whole.data<T>(), op.whole.columns(), begin, end);
    });
  });
}

const RegisterKernel<JoinColumns> vector_join{Numerics::cpu, {"vector", 10, nullptr, run_join}};
const RegisterKernel<SplitColumns> vector_split{Numerics::cpu, {"vector", 10, nullptr, run_split}};

}  // namespace
}  // namespace strobe
