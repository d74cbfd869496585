// Plain row copies. Without `accumulate` any element type is copied byte for byte; with it rows are added one after the
// other in list order, in one thread, because a row of `to` may occur more than once. Cost: the moved bytes.
#include <cstring>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

template <class T>
void add_values(T* to, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

std::int64_t listed_row(const Tensor& list, std::int64_t i) {
  return list.defined() ? list.data<std::int64_t>()[i] : i;
}

template <class T>
void add_rows(const CopyRows& op) {
  for (std::int64_t i = 0; i < op.count; ++i) {
    const T* from = op.from.data<T>() + listed_row(op.from_rows, i) * op.from.columns() + op.from_column;
    T* to = op.to.data<T>() + listed_row(op.to_rows, i) * op.to.columns() + op.to_column;
    add_values(to, from, op.width);
  }
}

void run_copy_rows(const CopyRows& op, KernelContext&) {
  if (op.accumulate) {
    cpu::with_element(op.to.type(), [&](auto zero) { add_rows<decltype(zero)>(op); });
    return;
  }
  const std::size_t element = element_bytes(op.from.type());
  for (std::int64_t i = 0; i < op.count; ++i) {
    const std::byte* from = op.from.raw() + static_cast<std::size_t>(listed_row(op.from_rows, i)) * op.from.row_bytes();
    std::byte* to = op.to.raw() + static_cast<std::size_t>(listed_row(op.to_rows, i)) * op.to.row_bytes();
    std::memcpy(to + static_cast<std::size_t>(op.to_column) * element,
                from + static_cast<std::size_t>(op.from_column) * element,
                static_cast<std::size_t>(op.width) * element);
  }
}

void run_copy_runs(const CopyRuns& op, KernelContext&) {
  const std::int64_t* runs = op.runs.data<std::int64_t>();
  for (std::int64_t i = 0; i < op.runs.rows(); ++i) {
    const std::int64_t from = runs[3 * i], to = runs[3 * i + 1], rows = runs[3 * i + 2];
    if (rows == 0) continue;
    if (op.accumulate) {
      cpu::with_element(op.to.type(), [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t width = op.to.columns();
        add_values(op.to.data<T>() + to * width, op.from.data<T>() + from * width, rows * width);
      });
    } else {
      const std::size_t row = op.from.row_bytes();
      std::memcpy(op.to.raw() + static_cast<std::size_t>(to) * row,
                  op.from.raw() + static_cast<std::size_t>(from) * row, static_cast<std::size_t>(rows) * row);
    }
  }
}

const RegisterKernel<CopyRows> copy_rows_plain{"cpu", {"plain", 0, nullptr, run_copy_rows}};
const RegisterKernel<CopyRuns> copy_runs_plain{"cpu", {"plain", 0, nullptr, run_copy_runs}};

}  // namespace
}  // namespace strobe
