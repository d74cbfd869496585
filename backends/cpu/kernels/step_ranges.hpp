// Tasks of a sparse product by rows: ranges of rows with about equal work that begin and end with steps where there are
// enough of them, so that a task can bring in the rows that its entries reach for.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/gather.hpp"

namespace strobe::cpu {

/// Rows [begin, end) of a product, and the steps [first_step, last_step) whose rows they read; none where a step is
/// divided among tasks.
struct StepRange {
  std::int64_t begin, end, first_step = 0, last_step = 0;
};

/// The rows [first, last) of `in` [.., width], read once in their order into the second-level cache: entries reach for
/// them in any order, which no prefetcher follows, and from memory every first touch of a line would be waited for.
template <class T>
void bring_in(const T* in, std::int64_t width, std::int64_t first, std::int64_t last) {
  constexpr int P = most_lanes<T>;
  Lanes<T, P> sink[2] = {};
  const std::int64_t end = last * width;
  for (std::int64_t i = first * width; i < end; i += 2 * P) {
    sink[0] += load<T, P>(in + i);
    sink[1] += load<T, P>(in + std::min(i + P, end - 1));
  }
  asm volatile("" ::"m"(sink));  // the sums are of no use to anybody else
}

namespace step_ranges_detail {

inline constexpr std::int64_t least_work = 1 << 13;  // non-zeros and rows
inline constexpr std::int64_t most_ranges = 64;      // of rows that belong to no step

/// Whether the rows of every step, of `row_bytes`, stay in the second-level cache, and the steps divide the work well
/// enough among `threads`: the largest is at most half of a thread's share.
template <class T>
bool by_steps(const CompressedView<T>& view, const SparseMatrix& a, std::uint64_t row_bytes, int threads) {
  constexpr std::uint64_t most_bytes = 1 << 20;
  if (!a.step_rows.defined() || a.steps < 2) return false;
  const std::int64_t* rows = a.step_rows.data<std::int64_t>();
  std::int64_t largest = 0;
  for (std::int64_t step = 0; step < a.steps; ++step) {
    const std::int64_t first = rows[step], last = rows[step + 1];
    if (static_cast<std::uint64_t>(last - first) * row_bytes > most_bytes) return false;
    largest = std::max(largest, view.offsets[last] - view.offsets[first] + last - first);
  }
  return threads == 1 || 2 * threads * largest <= view.offsets[view.rows] - view.offsets[0] + view.rows;
}

inline std::int64_t whole_units(std::int64_t row, std::int64_t unit) { return divide_up(row, unit) * unit; }

/// Rows [begin, end) in ranges of whole units with about equal work.
template <class T>
void add_balanced(const CompressedView<T>& a, std::int64_t begin, std::int64_t end, std::int64_t unit,
                  std::vector<StepRange>& ranges) {
  if (begin >= end) return;
  std::vector<std::int64_t> ends;
  append_balanced(a, begin, end, least_work, most_ranges, ends);
  for (std::int64_t last : ends) {
    last = std::min(end, whole_units(last, unit));
    if (begin < last) ranges.push_back({begin, last});
    begin = std::max(begin, last);
  }
}

}  // namespace step_ranges_detail

/// Ranges of the rows of `view`, which is `a` or its transpose, or has their rows in another order within units of
/// `unit` rows, for products with rows of `row_bytes` on `threads`. Few, large or uneven steps are divided without
/// regard to them; rows of halo columns follow the last step. A row's sum does not depend on its range.
template <class T>
std::vector<StepRange> step_ranges(const CompressedView<T>& view, const SparseMatrix& a, std::uint64_t row_bytes,
                                   std::int64_t unit, int threads) {
  using namespace step_ranges_detail;
  std::vector<StepRange> ranges;
  std::int64_t begin = 0;
  if (by_steps(view, a, row_bytes, threads)) {
    const std::int64_t* rows = a.step_rows.data<std::int64_t>();
    std::int64_t first_step = 0;
    for (std::int64_t step = 0; step < a.steps; ++step) {
      const std::int64_t end = std::min(view.rows, whole_units(rows[step + 1], unit));
      const std::int64_t work = view.offsets[end] - view.offsets[begin] + end - begin;
      if (begin >= end || (work < least_work && step + 1 < a.steps)) continue;
      ranges.push_back({begin, end, first_step, step + 1});
      begin = end, first_step = step + 1;
    }
  }
  add_balanced(view, begin, view.rows, unit, ranges);
  return ranges;
}

/// Calls body(begin, end) for every range, as tasks, with the rows of the steps of `in` that it reads brought in.
template <class T, class Body>
void for_step_ranges(const CompressedView<T>& view, const SparseMatrix& a, const Tensor& in, std::int64_t unit,
                     const KernelContext& context, const Body& body) {
  const std::vector<StepRange> ranges = step_ranges(view, a, in.row_bytes(), unit, thread_count(context));
  run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
    const StepRange& range = ranges[static_cast<std::size_t>(i)];
    if (range.first_step < range.last_step) {
      const std::int64_t* rows = a.step_rows.data<std::int64_t>();
      bring_in(in.data<T>(), in.columns(), rows[range.first_step], rows[range.last_step]);
    }
    body(range.begin, range.end);
  });
}

}  // namespace strobe::cpu
