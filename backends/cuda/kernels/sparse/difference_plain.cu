// Plain application of a graph difference (ESDG section 3.2): offsets first, one thread a row; then one thread per row
// merges what was kept of it with what was added; then changed values. Cost: all data is read and written once,
// plus one search among the removed per row. Launches: 2 or 3. One long row keeps one thread busy.
#include "backends/cuda/kernels/sparse/difference.hpp"

namespace strobe::cuda {
namespace difference_plain_kernels {

constexpr int threads = 128;

template <class T>
__global__ void merge_rows(Difference<T> d) {
  const std::int64_t first = d.before_offsets[0], base = d.before_offsets[d.rows];
  for (std::int64_t r = grid_thread(); r < d.rows; r += grid_threads()) {
    std::int64_t added = d.added_offsets[r], out = d.offsets[r] - base;
    const std::int64_t added_end = d.added_offsets[r + 1], end = d.before_offsets[r + 1] - first;
    std::int64_t e = d.before_offsets[r] - first, next_removed = d.removed_before(e);
    for (; e < end; ++e) {
      if (next_removed < d.removals && d.removed[next_removed] == e) {
        ++next_removed;
        continue;
      }
      const std::int64_t column = d.before_columns[e] + d.shift;
      for (; added < added_end && d.added_columns[added] < column; ++added)
        d.put(out++, d.added_columns[added], d.added_values, added);
      d.put(out++, column, d.before_values, e);
    }
    for (; added < added_end; ++added) d.put(out++, d.added_columns[added], d.added_values, added);
  }
}

void run_apply(const ApplyDifference& op, KernelContext& context) {
  with_element(value_type(op), [&](auto zero) {
    using T = decltype(zero);
    const Difference<T> d = difference<T>(op);
    launch(context, blocks_for(d.rows + 1, threads), threads, 0, next_offsets<T>, d);
    launch(context, blocks_for(d.rows, threads), threads, 0, merge_rows<T>, d);
    launch_changes<T>(op, context);
  });
}

const RegisterKernel<ApplyDifference> plain{"cuda", {"plain", 0, nullptr, run_apply}};

}  // namespace difference_plain_kernels
}  // namespace strobe::cuda
