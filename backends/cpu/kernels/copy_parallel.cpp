// Row copies on several threads. Each task owns one range of rows of `to` and walks the whole list for the rows that
// fall into it, in list order: no two tasks write the same row, repeated rows are added in list order, and the result
// is the same with any number of tasks. So there are as many tasks as threads. Without a list of target rows a task's
// part of the list is known at once. Cost: the moved bytes, and the lists once per thread.
#include <cstring>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t least_bytes_per_task = 1 << 15;

/// Copies or adds `count` values.
struct CopyBytes {
  std::size_t element;
  void operator()(std::byte* to, const std::byte* from, std::int64_t count) const {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element);
  }
};

template <class T>
struct AddValues {
  void operator()(std::byte* to, const std::byte* from, std::int64_t count) const {
    T* target = reinterpret_cast<T*>(to);
    const T* source = reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < count; ++i) target[i] += source[i];
  }
};

/// Calls body(move) with the mover that `op` asks for.
template <class Op, class Body>
void with_mover(const Op& op, const Body& body) {
  if (op.accumulate) {
    cpu::with_element(op.to.type(), [&](auto zero) { body(AddValues<decltype(zero)>{}); });
  } else {
    body(CopyBytes{element_bytes(op.from.type())});
  }
}

/// Calls body(begin, end) for one range of [0, rows) per thread, or for all of it when there is little to move.
template <class Body>
void for_owned_rows(const KernelContext& context, std::int64_t rows, std::uint64_t bytes, const Body& body) {
  const std::int64_t tasks = bytes < 2 * least_bytes_per_task ? 1 : cpu::thread_count(context);
  if (rows > 0) cpu::for_ranges(context, rows, cpu::divide_up(rows, tasks), body);
}

template <class Move>
void copy_rows(const CopyRows& op, const KernelContext& context, const Move& move) {
  const std::size_t element = element_bytes(op.from.type());
  const std::byte* from = op.from.raw() + static_cast<std::size_t>(op.from_column) * element;
  std::byte* to = op.to.raw() + static_cast<std::size_t>(op.to_column) * element;
  const std::uint64_t from_bytes = op.from.row_bytes(), to_bytes = op.to.row_bytes();
  const std::int64_t* from_list = op.from_rows.defined() ? op.from_rows.data<std::int64_t>() : nullptr;
  const std::int64_t* to_list = op.to_rows.defined() ? op.to_rows.data<std::int64_t>() : nullptr;
  const auto moved = static_cast<std::uint64_t>(op.count * op.width) * element;
  for_owned_rows(
      context, to_list != nullptr ? op.to.rows() : op.count, moved, [=, &op](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = to_list != nullptr ? 0 : begin, last = to_list != nullptr ? op.count : end;
        for (std::int64_t i = first; i < last; ++i) {
          const std::int64_t target = to_list != nullptr ? to_list[i] : i;
          if (target < begin || target >= end) continue;
          const std::int64_t source = from_list != nullptr ? from_list[i] : i;
          move(to + static_cast<std::uint64_t>(target) * to_bytes,
               from + static_cast<std::uint64_t>(source) * from_bytes, op.width);
        }
      });
}

template <class Move>
void copy_runs(const CopyRuns& op, const KernelContext& context, const Move& move) {
  const std::int64_t* runs = op.runs.data<std::int64_t>();
  const std::int64_t width = op.from.columns();
  const std::uint64_t row_bytes = op.from.row_bytes();
  const auto moved = static_cast<std::uint64_t>(op.rows) * row_bytes;
  for_owned_rows(context, op.to.rows(), moved, [=, &op](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < op.runs.rows(); ++i) {
      const std::int64_t from = runs[3 * i], to = runs[3 * i + 1], rows = runs[3 * i + 2];
      const std::int64_t first = std::max(begin, to), last = std::min(end, to + rows);
      if (first >= last) continue;
      move(op.to.raw() + static_cast<std::uint64_t>(first) * row_bytes,
           op.from.raw() + static_cast<std::uint64_t>(from + first - to) * row_bytes, (last - first) * width);
    }
  });
}

void run_copy_rows(const CopyRows& op, KernelContext& context) {
  with_mover(op, [&](const auto& move) { copy_rows(op, context, move); });
}

void run_copy_runs(const CopyRuns& op, KernelContext& context) {
  with_mover(op, [&](const auto& move) { copy_runs(op, context, move); });
}

const RegisterKernel<CopyRows> copy_rows_parallel{Numerics::cpu, {"parallel", 10, nullptr, run_copy_rows}};
const RegisterKernel<CopyRuns> copy_runs_parallel{Numerics::cpu, {"parallel", 10, nullptr, run_copy_runs}};

}  // namespace
}  // namespace strobe
