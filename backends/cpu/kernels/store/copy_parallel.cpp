// Row copies on several threads. Each task owns one range of rows of `to` and walks the whole list for the rows that
// fall into it, in list order: no two tasks write the same row, repeated rows are added in list order, and the result
// is the same with any number of tasks. So there are as many tasks as threads. Without a list of target rows a task's
// part of the list is known at once. Rows move as listed_rows.hpp says. Cost: the moved bytes, and the lists once per
// thread.
#include "backends/cpu/kernels/store/listed_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::uint64_t least_bytes_per_task = 1 << 15;

/// Calls body(move) with the mover of any number of values that `op` asks for.
template <class Op, class Body>
void with_mover(const Op& op, const Body& body) {
  if (!op.accumulate) return body(CopyBytes{element_bytes(op.from.type())});
  with_element(op.to.type(), [&](auto zero) { body(AddValues<decltype(zero)>{}); });
}

/// Calls body(move) with the mover of `op`'s rows.
template <class Body>
void with_row_mover(const CopyRows& op, const Body& body) {
  const std::size_t element = element_bytes(op.from.type());
  if (!op.accumulate) return with_copy(op.width, element, body);
  with_element(op.to.type(), [&](auto zero) { with_addition<decltype(zero)>(op.width, body); });
}

/// Calls body(begin, end) for one range of [0, rows) per thread, or for all of it when there is little to move.
template <class Body>
void for_owned_rows(const KernelContext& context, std::int64_t rows, std::uint64_t bytes, const Body& body) {
  const std::int64_t tasks = bytes < 2 * least_bytes_per_task ? 1 : thread_count(context);
  if (rows > 0) for_ranges(context, rows, divide_up(rows, tasks), body);
}

/// Rows [begin, end) of the list, in its order, to wherever it says.
template <class Move>
void copy_part(const CopyRows& op, const ListedRows& from, const ListedRows& to, std::int64_t begin, std::int64_t end,
               const Move& move) {
  const std::int64_t bytes = op.width * static_cast<std::int64_t>(element_bytes(op.from.type()));
  for (std::int64_t i = begin; i < end; ++i) {
    if (from.list != nullptr && i + rows_ahead < end) prefetch_row<0>(from.at(from.list[i + rows_ahead]), bytes);
    move(to.at(i), from.at(from.row(i)), op.width);
  }
}

/// Copies, in list order, the entries of the whole list that go to rows [begin, end).
template <class Move>
void copy_owned(const CopyRows& op, const ListedRows& from, const ListedRows& to, std::int64_t begin, std::int64_t end,
                const Move& move) {
  const std::int64_t bytes = op.width * static_cast<std::int64_t>(element_bytes(op.from.type()));
  for (std::int64_t i = 0; i < op.count; ++i) {
    if (i + rows_ahead < op.count) {
      const std::int64_t ahead = to.list[i + rows_ahead];
      if (ahead >= begin && ahead < end) {
        prefetch_row<1>(to.at(ahead), bytes);
        if (from.list != nullptr) prefetch_row<0>(from.at(from.list[i + rows_ahead]), bytes);
      }
    }
    const std::int64_t target = to.list[i];
    if (target >= begin && target < end) move(to.at(target), from.at(from.row(i)), op.width);
  }
}

/// Whether whole consecutive rows move to whole consecutive rows.
bool is_one_run(const CopyRows& op) {
  return !op.from_rows.defined() && !op.to_rows.defined() && op.width == op.from.columns() &&
         op.width == op.to.columns();
}

template <class Move>
void copy_one_run(const CopyRows& op, const KernelContext& context, const Move& move) {
  const std::uint64_t row_bytes = op.from.row_bytes(), moved = static_cast<std::uint64_t>(op.count) * row_bytes;
  for_owned_rows(context, op.count, moved, [&](std::int64_t begin, std::int64_t end) {
    const std::uint64_t first = static_cast<std::uint64_t>(begin) * row_bytes;
    move(op.to.raw() + first, op.from.raw() + first, (end - begin) * op.width);
  });
}

template <class Move>
void copy_rows(const CopyRows& op, const KernelContext& context, const Move& move) {
  const ListedRows from(op.from, op.from_rows, op.from_column), to(op.to, op.to_rows, op.to_column);
  const auto moved = static_cast<std::uint64_t>(op.count * op.width) * element_bytes(op.from.type());
  if (to.list == nullptr) {
    for_owned_rows(context, op.count, moved,
                   [&](std::int64_t begin, std::int64_t end) { copy_part(op, from, to, begin, end, move); });
  } else {
    for_owned_rows(context, op.to.rows(), moved,
                   [&](std::int64_t begin, std::int64_t end) { copy_owned(op, from, to, begin, end, move); });
  }
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
  if (op.width == 0) return;
  if (is_one_run(op)) {
    with_mover(op, [&](const auto& move) { copy_one_run(op, context, move); });
  } else {
    with_row_mover(op, [&](const auto& move) { copy_rows(op, context, move); });
  }
}

void run_copy_runs(const CopyRuns& op, KernelContext& context) {
  with_mover(op, [&](const auto& move) { copy_runs(op, context, move); });
}

const RegisterKernel<CopyRows> copy_rows_parallel{"cpu", {"parallel", 10, nullptr, run_copy_rows}};
const RegisterKernel<CopyRuns> copy_runs_parallel{"cpu", {"parallel", 10, nullptr, run_copy_runs}};

}  // namespace
}  // namespace strobe
