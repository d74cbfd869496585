// Plain placing of snapshots: rows find their first coordinate, and entries their place, by binary search. Cost: all
// data is read and written once, plus the searches (log2 of the entries per row, of the row per entry). Launches: 2, 2
// and 1.
#include "backends/cuda/kernels/search.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe::cuda {
namespace store_plain_kernels {

constexpr int threads = 256;

template <class Index>
__global__ void find_rows(const Index* rows, std::int64_t entries, std::int64_t* offsets, std::int64_t count,
                          std::int64_t first_entry) {
  for (std::int64_t r = grid_thread(); r < count; r += grid_threads()) {
    offsets[r] = first_entry + first_not_below(rows, 0, entries, r);
  }
}

template <class Index>
__global__ void place_columns(const Index* from, std::int32_t* to, std::int64_t entries, std::int64_t first_column) {
  for (std::int64_t e = grid_thread(); e < entries; e += grid_threads()) {
    to[e] = static_cast<std::int32_t>(static_cast<std::int64_t>(from[e]) + first_column);
  }
}

template <class Index>
void coo_to_csr(const CooToCsr& op, const KernelContext& context) {
  const std::int64_t entries = op.columns.rows(), count = op.offsets.rows();
  launch(context, blocks_for(count, threads), threads, 0, find_rows<Index>, op.coordinate_rows.data<Index>(), entries,
         op.offsets.data<std::int64_t>(), count, op.first_entry);
  launch(context, blocks_for(entries, threads), threads, 0, place_columns<Index>, op.coordinate_columns.data<Index>(),
         op.columns.data<std::int32_t>(), entries, op.first_column);
}

void run_coo_to_csr(const CooToCsr& op, KernelContext& context) {
  op.coordinate_rows.type() == ElementType::i64 ? coo_to_csr<std::int64_t>(op, context)
                                                : coo_to_csr<std::int32_t>(op, context);
}

__global__ void place_offsets(const std::int32_t* from, std::int64_t* to, std::int64_t count,
                              std::int64_t first_entry) {
  for (std::int64_t r = grid_thread(); r < count; r += grid_threads()) to[r] = from[r] + first_entry;
}

void run_place_csr(const PlaceCsr& op, KernelContext& context) {
  std::int32_t* const columns = op.columns.data<std::int32_t>();
  launch(context, blocks_for(op.offsets.rows(), threads), threads, 0, place_offsets,
         op.row_pointers.data<std::int32_t>(), op.offsets.data<std::int64_t>(), op.offsets.rows(), op.first_entry);
  launch(context, blocks_for(op.columns.rows(), threads), threads, 0, place_columns<std::int32_t>, columns, columns,
         op.columns.rows(), op.first_column);
}

/// Entries looked for, by their coordinates.
struct Wanted {
  const std::int64_t *rows, *columns;
  std::int32_t* positions;
  std::int64_t count;
};

__global__ void locate(const std::int64_t* offsets, const std::int32_t* columns, Wanted wanted,
                       std::int64_t first_column) {
  for (std::int64_t i = grid_thread(); i < wanted.count; i += grid_threads()) {
    const std::int64_t row = wanted.rows[i], begin = offsets[row] - offsets[0], end = offsets[row + 1] - offsets[0];
    wanted.positions[i] =
        static_cast<std::int32_t>(first_not_below(columns, begin, end, wanted.columns[i] + first_column));
  }
}

void run_locate(const LocateEntries& op, KernelContext& context) {
  const Wanted wanted{op.coordinate_rows.data<std::int64_t>(), op.coordinate_columns.data<std::int64_t>(),
                      op.positions.data<std::int32_t>(), op.positions.rows()};
  launch(context, blocks_for(wanted.count, threads), threads, 0, locate, op.offsets.data<std::int64_t>(),
         op.columns.data<std::int32_t>(), wanted, op.first_column);
}

const RegisterKernel<CooToCsr> coo_plain{"cuda", {"plain", 0, nullptr, run_coo_to_csr}};
const RegisterKernel<PlaceCsr> place_plain{"cuda", {"plain", 0, nullptr, run_place_csr}};
const RegisterKernel<LocateEntries> locate_plain{"cuda", {"plain", 0, nullptr, run_locate}};

}  // namespace store_plain_kernels
}  // namespace strobe::cuda
