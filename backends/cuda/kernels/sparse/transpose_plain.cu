// Plain transpose, a counting sort: entries of each column by atomic integer additions (whose order does not matter),
// places from their sums by one thread, then one thread per block of rows places its entries in order of rows. Returns
// what the sorted variant does, entry for entry. Cost: O(entries + rows); few blocks leave most of the GPU idle.
#include <algorithm>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe::cuda {
namespace transpose_plain_kernels {

constexpr int threads = 256;

template <class T>
struct Turned {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  std::int64_t* turned_offsets;
  std::int32_t* turned_columns;
  T* turned_values;
  std::int64_t rows, entries, turned_rows;
};

// Counts and places are of the type for which CUDA has an atomic addition.
using Place = unsigned long long;

__global__ void clear_counts(Place* next, std::int64_t count) {
  for (std::int64_t c = grid_thread(); c < count; c += grid_threads()) next[c] = 0;
}

template <class T>
__global__ void count_columns(Turned<T> m, Place* next) {
  for (std::int64_t e = grid_thread(); e < m.entries; e += grid_threads()) atomicAdd(next + m.columns[e] + 1, Place{1});
}

/// Counts to offsets and to first places; one thread.
template <class T>
__global__ void add_counts(Turned<T> m, Place* next) {
  if (grid_thread() != 0) return;
  Place sum = 0;
  for (std::int64_t c = 0; c <= m.turned_rows; ++c) {
    sum += next[c];
    m.turned_offsets[c] = static_cast<std::int64_t>(sum);
    next[c] = sum;
  }
}

template <class T>
__global__ void place_entries(Turned<T> m, Place* next, std::int64_t block_rows) {
  const std::int64_t blocks = (m.rows + block_rows - 1) / block_rows;
  for (std::int64_t block = grid_thread(); block < blocks; block += grid_threads()) {
    for (std::int64_t row = block * block_rows; row < min(m.rows, (block + 1) * block_rows); ++row) {
      for (std::int64_t e = m.offsets[row]; e < m.offsets[row + 1]; ++e) {
        const std::int64_t place = next[m.columns[e]]++;
        m.turned_columns[place] = static_cast<std::int32_t>(row);
        m.turned_values[place] = m.values[e];
      }
    }
  }
}

template <class T>
void transpose(const TransposeCsr& op, const KernelContext& context) {
  const Turned<T> m{op.offsets.data<std::int64_t>(),
                    op.columns.data<std::int32_t>(),
                    op.values.data<T>(),
                    op.transposed_offsets.data<std::int64_t>(),
                    op.transposed_columns.data<std::int32_t>(),
                    op.transposed_values.data<T>(),
                    op.offsets.rows() - 1,
                    op.columns.rows(),
                    op.transposed_offsets.rows() - 1};
  const std::int64_t places = m.turned_rows + 1;
  auto* const next = reinterpret_cast<Place*>(context.scratch(static_cast<std::size_t>(places) * sizeof(Place)));
  const std::int64_t block_rows = op.block_rows > 0 ? op.block_rows : std::max(m.rows, std::int64_t{1});
  constexpr int few = 32;  // there are few such threads: they should not share a multiprocessor
  launch(context, blocks_for(places, threads), threads, 0, clear_counts, next, places);
  launch(context, blocks_for(m.entries, threads), threads, 0, count_columns<T>, m, next);
  launch(context, 1, few, 0, add_counts<T>, m, next);
  launch(context, blocks_for((m.rows + block_rows - 1) / block_rows, few), few, 0, place_entries<T>, m, next,
         block_rows);
}

void run_transpose(const TransposeCsr& op, KernelContext& context) {
  with_element(op.values.type(), [&](auto zero) { transpose<decltype(zero)>(op, context); });
}

const RegisterKernel<TransposeCsr> plain{"cuda", {"plain", 0, nullptr, run_transpose}};

}  // namespace transpose_plain_kernels
}  // namespace strobe::cuda
