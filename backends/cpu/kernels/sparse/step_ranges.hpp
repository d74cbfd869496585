// Tasks of a sparse product by rows: ranges of rows with about equal work, so that a task can bring in the rows that
// its entries reach for: whole steps where there are enough of them, one range per thread of a single small step.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/sparse/gather.hpp"

namespace strobe::cpu {

/// Rows [begin, end) of a product, and the rows [first, last) that are worth bringing in for them; maybe none. With
/// `all` its entries reach for no others.
struct StepRange {
  std::int64_t begin, end, first = 0, last = 0;
  bool all = false;
};

/// The rows of `in` [.., width] that a range reaches for, read once in their order into the second-level cache: entries
/// reach for them in any order, which no prefetcher follows, and from memory every first touch of a line would be
/// waited for.
template <class T>
void bring_in(const T* in, std::int64_t width, const StepRange& range) {
  constexpr int P = most_lanes<T>;
  Lanes<T, P> sink[2] = {};
  const std::int64_t end = range.last * width;
  for (std::int64_t i = range.first * width; i < end; i += 2 * P) {
    sink[0] += load<T, P>(in + i);
    sink[1] += load<T, P>(in + std::min(i + P, end - 1));
  }
  asm volatile("" ::"m"(sink));  // the sums are of no use to anybody else
}

namespace step_ranges_detail {

inline constexpr std::int64_t least_work = 1 << 13;  // non-zeros and rows
inline constexpr std::int64_t most_ranges = 64;      // of rows that belong to no step

/// Bytes that are brought in at once: they stay in a second-level cache. At most a mebibyte, with which it was
/// measured.
inline std::uint64_t most_bytes() {
  static const long known = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return known <= 0 ? 1 << 20 : static_cast<std::uint64_t>(std::clamp<long>(known, 1 << 18, 1 << 20));
}

template <class T>
std::int64_t work_of(const CompressedView<T>& view) {
  return view.offsets[view.rows] - view.offsets[0] + view.rows;
}

/// Whether the rows of every step, of `row_bytes`, stay in the second-level cache, and the steps divide the work well
/// enough among `threads`: the largest is at most half of a thread's share.
template <class T>
bool by_steps(const CompressedView<T>& view, const SparseMatrix& a, std::uint64_t row_bytes, int threads) {
  if (!a.step_rows.defined() || a.steps < 2) return false;
  const std::int64_t* rows = a.step_rows.data<std::int64_t>();
  std::int64_t largest = 0;
  for (std::int64_t step = 0; step < a.steps; ++step) {
    const std::int64_t first = rows[step], last = rows[step + 1];
    if (static_cast<std::uint64_t>(last - first) * row_bytes > most_bytes()) return false;
    largest = std::max(largest, view.offsets[last] - view.offsets[first] + last - first);
  }
  return threads == 1 || 2 * threads * largest <= work_of(view);
}

/// Whether all rows that a product of at most one step reads are worth bringing in by every one of `threads`: they have
/// just been written, many by other threads, and each has several entries or rows to work on per line. More than half
/// of the cache gains nothing: the entries stream through it.
template <class T>
bool by_threads(const CompressedView<T>& view, const SparseMatrix& a, std::uint64_t bytes, int threads) {
  constexpr std::uint64_t least_per_line = 4;
  const std::uint64_t share = work_of(view) / threads;
  return a.steps <= 1 && bytes <= most_bytes() / 2 && share >= bytes / 64 * least_per_line;
}

inline std::int64_t whole_units(std::int64_t row, std::int64_t unit) { return divide_up(row, unit) * unit; }

/// Divides rows [begin, end) into at most `most` ranges of whole units with about equal work. Each reads the first
/// `read` rows, which may be `all` rows.
template <class T>
void add_balanced(const CompressedView<T>& a, std::int64_t begin, std::int64_t end, std::int64_t unit,
                  std::int64_t most, std::int64_t read, bool all, std::vector<StepRange>& ranges) {
  if (begin >= end) return;
  std::vector<std::int64_t> ends;
  append_balanced(a, begin, end, least_work, most, ends);
  for (std::int64_t last : ends) {
    last = std::min(end, whole_units(last, unit));
    if (begin < last) ranges.push_back({begin, last, 0, read, all});
    begin = std::max(begin, last);
  }
}

}  // namespace step_ranges_detail

/// Ranges of the rows of `view`, which is `a` or its transpose, or has their rows in another order within units of
/// `unit` rows, for products with rows of `in` on `threads`. Few, large or uneven steps are divided without regard to
/// them; rows of halo columns follow the last step. A row's sum does not depend on its range.
template <class T>
std::vector<StepRange> step_ranges(const CompressedView<T>& view, const SparseMatrix& a, const Tensor& in,
                                   std::int64_t unit, int threads) {
  using namespace step_ranges_detail;
  std::vector<StepRange> ranges;
  std::int64_t begin = 0;
  if (by_threads(view, a, in.bytes(), threads)) {
    add_balanced(view, begin, view.rows, unit, threads, in.rows(), true, ranges);
    return ranges;
  }
  if (by_steps(view, a, in.row_bytes(), threads)) {
    const std::int64_t* rows = a.step_rows.data<std::int64_t>();
    std::int64_t first_step = 0;
    for (std::int64_t step = 0; step < a.steps; ++step) {
      const std::int64_t end = std::min(view.rows, whole_units(rows[step + 1], unit));
      const std::int64_t work = view.offsets[end] - view.offsets[begin] + end - begin;
      if (begin >= end || (work < least_work && step + 1 < a.steps)) continue;
      ranges.push_back({begin, end, rows[first_step], rows[step + 1]});
      begin = end, first_step = step + 1;
    }
  }
  add_balanced(view, begin, view.rows, unit, most_ranges, 0, false, ranges);
  return ranges;
}

/// Calls body(range) for every range, as tasks.
template <class T, class Body>
void for_step_ranges(const CompressedView<T>& view, const SparseMatrix& a, const Tensor& in, std::int64_t unit,
                     const KernelContext& context, const Body& body) {
  const std::vector<StepRange> ranges = step_ranges(view, a, in, unit, thread_count(context));
  run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) { body(ranges[i]); });
}

}  // namespace strobe::cpu
