// Plain reconstruction of snapshots, in one thread: entry after entry, row after row. Cost: one pass over what is read
// and written; locating an entry walks its row.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe {
namespace {

template <class Index>
void coo_to_csr(const CooToCsr& op) {
  const Index* rows = op.coordinate_rows.data<Index>();
  const Index* columns = op.coordinate_columns.data<Index>();
  std::int64_t* offsets = op.offsets.data<std::int64_t>();
  std::fill_n(offsets, op.offsets.rows(), std::int64_t{0});
  for (std::int64_t e = 0; e < op.columns.rows(); ++e) {
    ++offsets[rows[e] + 1];
    op.columns.data<std::int32_t>()[e] =
        static_cast<std::int32_t>(static_cast<std::int64_t>(columns[e]) + op.first_column);
  }
  offsets[0] = op.first_entry;
  for (std::int64_t r = 1; r < op.offsets.rows(); ++r) offsets[r] += offsets[r - 1];
}

void run_coo_to_csr(const CooToCsr& op, KernelContext&) {
  op.coordinate_rows.type() == ElementType::i64 ? coo_to_csr<std::int64_t>(op) : coo_to_csr<std::int32_t>(op);
}

void run_place_csr(const PlaceCsr& op, KernelContext&) {
  for (std::int64_t r = 0; r < op.offsets.rows(); ++r)
    op.offsets.data<std::int64_t>()[r] = op.row_pointers.data<std::int32_t>()[r] + op.first_entry;
  for (std::int64_t e = 0; e < op.columns.rows(); ++e)
    op.columns.data<std::int32_t>()[e] += static_cast<std::int32_t>(op.first_column);
}

void run_locate(const LocateEntries& op, KernelContext&) {
  const std::int64_t* offsets = op.offsets.data<std::int64_t>();
  for (std::int64_t i = 0; i < op.positions.rows(); ++i) {
    const std::int64_t row = op.coordinate_rows.data<std::int64_t>()[i];
    const std::int64_t column = op.coordinate_columns.data<std::int64_t>()[i] + op.first_column;
    std::int64_t e = offsets[row] - offsets[0];
    while (op.columns.data<std::int32_t>()[e] != column) ++e;
    op.positions.data<std::int32_t>()[i] = static_cast<std::int32_t>(e);
  }
}

template <class T>
void apply_difference(const ApplyDifference& op) {
  const std::int64_t* before = op.before_offsets.data<std::int64_t>();
  const std::int64_t* added_offsets = op.added_offsets.data<std::int64_t>();
  const std::int32_t* old_columns = op.before_columns.data<std::int32_t>();
  const std::int32_t* added_columns = op.added_columns.data<std::int32_t>();
  std::int64_t* offsets = op.offsets.data<std::int64_t>();
  const std::int64_t rows = op.offsets.rows() - 1, first = before[rows];
  const bool with_values = op.values.defined();
  std::int64_t out = 0, next_removed = 0, added = 0;
  const auto put = [&](std::int64_t column, const Tensor& from, std::int64_t position) {
    op.columns.data<std::int32_t>()[out] = static_cast<std::int32_t>(column);
    if (with_values) op.values.data<T>()[out] = from.data<T>()[position];
    ++out;
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    offsets[r] = first + out;
    for (std::int64_t e = before[r] - before[0]; e < before[r + 1] - before[0]; ++e) {
      if (next_removed < op.removed.rows() && op.removed.data<std::int32_t>()[next_removed] == e) {
        ++next_removed;
        continue;
      }
      const std::int64_t column = old_columns[e] + op.column_shift;
      for (; added < added_offsets[r + 1] && added_columns[added] < column; ++added)
        put(added_columns[added], op.added_values, added);
      put(column, op.before_values, e);
    }
    for (; added < added_offsets[r + 1]; ++added) put(added_columns[added], op.added_values, added);
  }
  offsets[rows] = first + out;
  for (std::int64_t i = 0; with_values && op.changed.defined() && i < op.changed.rows(); ++i) {
    const std::int64_t place =
        op.changed.type() == ElementType::i64 ? op.changed.data<std::int64_t>()[i] : op.changed.data<std::int32_t>()[i];
    op.values.data<T>()[place] = op.changed_values.data<T>()[i];
  }
}

void run_apply_difference(const ApplyDifference& op, KernelContext&) {
  const ElementType type = op.values.defined() ? op.values.type() : ElementType::f32;
  cpu::with_element(type, [&](auto zero) { apply_difference<decltype(zero)>(op); });
}

/// Counting sort: entries of each column, places from their sums, then row after row.
template <class T>
void transpose(const TransposeCsr& op) {
  const std::int64_t* offsets = op.offsets.data<std::int64_t>();
  std::int64_t* transposed = op.transposed_offsets.data<std::int64_t>();
  std::fill_n(transposed, op.transposed_offsets.rows(), std::int64_t{0});
  for (std::int64_t e = 0; e < op.columns.rows(); ++e) ++transposed[op.columns.data<std::int32_t>()[e] + 1];
  for (std::int64_t c = 1; c < op.transposed_offsets.rows(); ++c) transposed[c] += transposed[c - 1];
  std::vector<std::int64_t> next(transposed, transposed + op.transposed_offsets.rows());
  for (std::int64_t row = 0; row + 1 < op.offsets.rows(); ++row) {
    for (std::int64_t e = offsets[row]; e < offsets[row + 1]; ++e) {
      const std::int64_t place = next[op.columns.data<std::int32_t>()[e]]++;
      op.transposed_columns.data<std::int32_t>()[place] = static_cast<std::int32_t>(row);
      op.transposed_values.data<T>()[place] = op.values.data<T>()[e];
    }
  }
}

void run_transpose(const TransposeCsr& op, KernelContext&) {
  cpu::with_element(op.values.type(), [&](auto zero) { transpose<decltype(zero)>(op); });
}

const RegisterKernel<CooToCsr> coo_plain{"cpu", {"plain", 0, nullptr, run_coo_to_csr}};
const RegisterKernel<PlaceCsr> place_plain{"cpu", {"plain", 0, nullptr, run_place_csr}};
const RegisterKernel<LocateEntries> locate_plain{"cpu", {"plain", 0, nullptr, run_locate}};
const RegisterKernel<ApplyDifference> apply_plain{"cpu", {"plain", 0, nullptr, run_apply_difference}};
const RegisterKernel<TransposeCsr> transpose_plain{"cpu", {"plain", 0, nullptr, run_transpose}};

}  // namespace
}  // namespace strobe
