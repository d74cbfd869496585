// Transpose by a stable sort of the entries' columns (pair_sort.hpp), so that entries of a column keep the order of
// their rows; offsets by binary search among the sorted columns. Every step has one thread per entry or row, whatever
// the blocks. Cost: the sort; columns and values once, rows of entries once out and, like values, in the order
// of the transpose once in. Launches: 4 and the sort's.
#include "backends/cuda/kernels/scratch_part.hpp"
#include "backends/cuda/kernels/search.hpp"
#include "backends/cuda/kernels/sparse/pair_sort.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe::cuda {
namespace transpose_sorted_kernels {

constexpr int threads = 256;

__global__ void take_keys(const std::int32_t* columns, std::uint32_t* keys, std::int64_t entries) {
  for (std::int64_t e = grid_thread(); e < entries; e += grid_threads())
    keys[e] = static_cast<std::uint32_t>(columns[e]);
}

__global__ void __launch_bounds__(threads)
    write_rows(const std::int64_t* offsets, std::int64_t rows, std::int64_t entries, std::int32_t* row_of) {
  STROBE_SHARED(RowSpan, span);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * threads; base < entries; base += step) {
    find_row_span(offsets, rows, base, min(entries, base + threads), span);
    const std::int64_t e = base + threadIdx.x;
    if (e < entries) row_of[e] = static_cast<std::int32_t>(row_of_entry(offsets, span.first, span.last, e));
    __syncthreads();
  }
}

__global__ void find_offsets(const std::uint32_t* keys, std::int64_t entries, std::int64_t* offsets,
                             std::int64_t count) {
  for (std::int64_t c = grid_thread(); c < count; c += grid_threads()) {
    offsets[c] = first_not_below(keys, 0, entries, c);
  }
}

template <class T>
__global__ void take_entries(const std::uint32_t* items, const std::int32_t* row_of, const T* values,
                             std::int32_t* turned_columns, T* turned_values, std::int64_t entries) {
  for (std::int64_t i = grid_thread(); i < entries; i += grid_threads()) {
    const std::uint32_t e = items[i];
    turned_columns[i] = row_of[e];
    turned_values[i] = values[e];
  }
}

template <class T>
void transpose(const TransposeCsr& op, const KernelContext& context) {
  const std::int64_t entries = op.columns.rows(), offsets = op.transposed_offsets.rows();
  const std::size_t row_bytes = scratch_part(entries, sizeof(std::int32_t));
  std::byte* const scratch = context.scratch(row_bytes + pair_sort_bytes(entries));
  auto* const row_of = reinterpret_cast<std::int32_t*>(scratch);
  const PairSort sort = place_pair_sort(scratch + row_bytes, entries, offsets - 1);
  const std::int64_t blocks = blocks_for(entries, threads);
  launch(context, blocks, threads, 0, take_keys, op.columns.data<std::int32_t>(), sort.keys[0], entries);
  launch(context, blocks, threads, 0, write_rows, op.offsets.data<std::int64_t>(), op.offsets.rows() - 1, entries,
         row_of);
  const SortedPairs sorted = sort_pairs(context, sort);
  launch(context, blocks_for(offsets, threads), threads, 0, find_offsets, sorted.keys, entries,
         op.transposed_offsets.data<std::int64_t>(), offsets);
  launch(context, blocks, threads, 0, take_entries<T>, sorted.items, row_of, op.values.data<T>(),
         op.transposed_columns.data<std::int32_t>(), op.transposed_values.data<T>(), entries);
}

void run_transpose(const TransposeCsr& op, KernelContext& context) {
  with_element(op.values.type(), [&](auto zero) { transpose<decltype(zero)>(op, context); });
}

bool supports(const TransposeCsr& op) { return takes_pair_sort(op.columns.rows(), op.transposed_offsets.rows()); }

const RegisterKernel<TransposeCsr> sorted{"cuda", {"sorted", 10, supports, run_transpose}};

}  // namespace transpose_sorted_kernels
}  // namespace strobe::cuda
