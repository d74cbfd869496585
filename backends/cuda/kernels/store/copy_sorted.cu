// Adding rows whose targets may occur more than once: the list is sorted by target, stably (pair_sort.hpp), and one
// thread per (target, column) adds its rows in list order, beginning with the target's old value. So the sum has the
// order that the operation asks for. Runs are written out as a list first. Cost: the sort, and the moved bytes; a
// target of very many rows keeps the threads of its columns busy alone. Launches: 2 and the sort's; runs 3 more.
#include "backends/cuda/kernels/scratch_part.hpp"
#include "backends/cuda/kernels/search.hpp"
#include "backends/cuda/kernels/sparse/pair_sort.hpp"
#include "backends/cuda/kernels/sparse/prefix_sums.hpp"
#include "backends/cuda/kernels/store/copy_words.hpp"

namespace strobe::cuda {
namespace copy_sorted_kernels {

constexpr int threads = 256;

__global__ void take_targets(const std::int64_t* to_rows, std::uint32_t* keys, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) keys[i] = static_cast<std::uint32_t>(to_rows[i]);
}

/// `sources` say from which row an item comes; null: as `copy` says.
template <class T>
__global__ void add_sorted(RowCopy<T> copy, SortedPairs sorted, const std::uint32_t* sources) {
  for (std::int64_t i = grid_thread(); i < copy.count * copy.width; i += grid_threads()) {
    const std::int64_t place = i / copy.width, column = i % copy.width;
    const std::uint32_t target = sorted.keys[place];
    if (place > 0 && sorted.keys[place - 1] == target) continue;
    T& to = copy.to[target * copy.to_columns + column];
    T sum = to;
    for (std::int64_t p = place; p < copy.count && sorted.keys[p] == target; ++p) {
      const std::uint32_t item = sorted.items[p];
      sum += *copy.from_at(sources == nullptr ? item : sources[item], column);
    }
    to = sum;
  }
}

void run_copy_rows(const CopyRows& op, KernelContext& context) {
  if (op.count == 0 || op.width == 0) return;
  const PairSort sort = place_pair_sort(context.scratch(pair_sort_bytes(op.count)), op.count, op.to.rows());
  launch(context, blocks_for(op.count, threads), threads, 0, take_targets, op.to_rows.data<std::int64_t>(),
         sort.keys[0], op.count);
  const SortedPairs sorted = sort_pairs(context, sort);
  with_element(op.to.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.count * op.width, threads), threads, 0, add_sorted<T>, row_copy<T>(op), sorted,
           static_cast<const std::uint32_t*>(nullptr));
  });
}

__global__ void take_lengths(const std::int64_t* runs, std::uint32_t* first, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads())
    first[i] = static_cast<std::uint32_t>(runs[3 * i + 2]);
}

/// Row i of all runs' rows: its target and its source. `first` holds the rows in front of each run.
__global__ void write_out_runs(const std::int64_t* runs, const std::uint32_t* first, std::int64_t count,
                               std::int64_t rows, std::uint32_t* targets, std::uint32_t* sources) {
  for (std::int64_t i = grid_thread(); i < rows; i += grid_threads()) {
    const std::int64_t run = first_not_below(first, 0, count, i + 1) - 1;
    const std::int64_t inside = i - first[run];
    targets[i] = static_cast<std::uint32_t>(runs[3 * run + 1] + inside);
    sources[i] = static_cast<std::uint32_t>(runs[3 * run] + inside);
  }
}

void run_copy_runs(const CopyRuns& op, KernelContext& context) {
  if (op.rows == 0 || op.to.columns() == 0) return;
  const std::int64_t count = op.runs.rows(), *runs = op.runs.data<std::int64_t>();
  const std::size_t sort_bytes = pair_sort_bytes(op.rows), list_bytes = scratch_part(op.rows, 4),
                    run_bytes = scratch_part(count, 4);
  std::byte* const scratch =
      context.scratch(sort_bytes + list_bytes + run_bytes + scratch_part(exclusive_sums_workspace(count), 4));
  const PairSort sort = place_pair_sort(scratch, op.rows, op.to.rows());
  auto* const sources = reinterpret_cast<std::uint32_t*>(scratch + sort_bytes);
  auto* const first = reinterpret_cast<std::uint32_t*>(scratch + sort_bytes + list_bytes);
  launch(context, blocks_for(count, threads), threads, 0, take_lengths, runs, first, count);
  exclusive_sums(context, first, count,
                 reinterpret_cast<std::uint32_t*>(scratch + sort_bytes + list_bytes + run_bytes));
  launch(context, blocks_for(op.rows, threads), threads, 0, write_out_runs, runs, first, count, op.rows, sort.keys[0],
         sources);
  const SortedPairs sorted = sort_pairs(context, sort);
  with_element(op.to.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.to.columns();
    const RowCopy<T> copy{op.from.data<T>(), op.to.data<T>(), width, width, nullptr, nullptr, op.rows, width};
    launch(context, blocks_for(op.rows * width, threads), threads, 0, add_sorted<T>, copy, sorted, sources);
  });
}

bool adds_to_listed(const CopyRows& op) {
  return op.accumulate && op.to_rows.defined() && takes_pair_sort(op.count, op.to.rows());
}
bool adds(const CopyRuns& op) {
  return op.accumulate && takes_pair_sort(op.rows, op.to.rows()) && takes_pair_sort(op.from.rows(), 1);
}

const RegisterKernel<CopyRows> rows_sorted{"cuda", {"sorted", 10, adds_to_listed, run_copy_rows}};
const RegisterKernel<CopyRuns> runs_sorted{"cuda", {"sorted", 10, adds, run_copy_runs}};

}  // namespace copy_sorted_kernels
}  // namespace strobe::cuda
