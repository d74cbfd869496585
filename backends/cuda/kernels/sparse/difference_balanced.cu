// Application of a graph difference (ESDG section 3.2) with one thread per entry: an entry's place in the next snapshot
// is its place in its own list plus how many entries of the other list lie before it, found by binary search (a merge
// by ranks). Blocks narrow the searches for rows and removals to the span of their entries, so a long row is no
// different from many short ones. Cost: the searches; all data is read and written once. Launches: 3 or 4.
#include "backends/cuda/kernels/sparse/difference.hpp"

namespace strobe::cuda {
namespace difference_balanced_kernels {

constexpr int threads = 256;

/// A block's entries, their rows, and the removals that fall among them.
struct KeptSpan {
  RowSpan rows, removals;
};

template <class T>
__device__ void find_removals(const Difference<T>& d, std::int64_t begin, std::int64_t end, RowSpan& span) {
  if (threadIdx.x == 2 * warp_lanes) span.first = d.removed_before(begin);
  if (threadIdx.x == 3 * warp_lanes) span.last = d.removed_before(end);
}

/// Entries of the earlier snapshot that were not removed.
template <class T>
__global__ void __launch_bounds__(threads) move_kept(Difference<T> d, std::int64_t entries) {
  STROBE_SHARED(KeptSpan, span);
  const std::int64_t first = d.before_offsets[0], step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * threads; base < entries; base += step) {
    const std::int64_t end = min(entries, base + threads), e = base + threadIdx.x;
    find_removals(d, base, end, span.removals);
    find_row_span(d.before_offsets, d.rows, base, end, span.rows);
    if (e < end) {
      const std::int64_t removed = first_not_below(d.removed, span.removals.first, span.removals.last, e);
      if (removed == d.removals || d.removed[removed] != e) {
        const std::int64_t row = row_of_entry(d.before_offsets, span.rows.first, span.rows.last, first + e);
        const std::int64_t column = d.before_columns[e] + d.shift;
        const std::int64_t added =
            first_not_below(d.added_columns, d.added_offsets[row], d.added_offsets[row + 1], column);
        d.put(e - removed + added, column, d.before_values, e);
      }
    }
    __syncthreads();
  }
}

/// Entries that were added.
template <class T>
__global__ void __launch_bounds__(threads) move_added(Difference<T> d, std::int64_t entries) {
  STROBE_SHARED(RowSpan, span);
  const std::int64_t first = d.before_offsets[0], step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * threads; base < entries; base += step) {
    const std::int64_t end = min(entries, base + threads), a = base + threadIdx.x;
    find_row_span(d.added_offsets, d.rows, base, end, span);
    if (a < end) {
      const std::int64_t row = row_of_entry(d.added_offsets, span.first, span.last, a);
      const std::int64_t column = d.added_columns[a];
      const std::int64_t before = first_not_below(d.before_columns, d.before_offsets[row] - first,
                                                  d.before_offsets[row + 1] - first, column - d.shift);
      d.put(a + before - d.removed_before(before), column, d.added_values, a);
    }
    __syncthreads();
  }
}

void run_apply(const ApplyDifference& op, KernelContext& context) {
  with_element(value_type(op), [&](auto zero) {
    using T = decltype(zero);
    const Difference<T> d = difference<T>(op);
    const std::int64_t before = op.before_columns.rows(), added = op.added_columns.rows();
    launch(context, blocks_for(d.rows + 1, threads), threads, 0, next_offsets<T>, d);
    launch(context, blocks_for(before, threads), threads, 0, move_kept<T>, d, before);
    launch(context, blocks_for(added, threads), threads, 0, move_added<T>, d, added);
    launch_changes<T>(op, context);
  });
}

const RegisterKernel<ApplyDifference> balanced{"cuda", {"balanced", 10, nullptr, run_apply}};

}  // namespace difference_balanced_kernels
}  // namespace strobe::cuda
