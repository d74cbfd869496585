// Builds snapshots on the device from transferred data: ESDG's graph-difference transfer (section 3.2), and stacks of
// snapshots in a SparseMatrix. Every operation works on independent rows, entries or steps and finds its place by
// binary search or prefix sums, so that a device with many threads can do the same. Shapes in brackets; n rows of a
// snapshot, z its entries. Offsets of a stack count from its first snapshot's first entry. Columns of its s-th snapshot
// are numbered from s n on.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// Sorted coordinates to CSR: offsets[r] = first_entry + entries in rows before r; columns = coordinates +
/// first_column.
struct CooToCsr {
  static constexpr std::string_view name = "coo_to_csr";
  Tensor coordinate_rows;     // i32 or i64 [z, 1], not descending
  Tensor coordinate_columns;  // of the same type [z, 1]
  Tensor offsets;             // i64 [n + 1, 1]
  Tensor columns;             // i32 [z, 1]
  std::int64_t first_entry = 0, first_column = 0;
  Work work() const {
    using namespace operations_detail;
    return {0.0, bytes_of(coordinate_rows) + bytes_of(coordinate_columns), bytes_of(offsets) + bytes_of(columns)};
  }
};

/// A snapshot's own CSR to its place in a stack: offsets = row_pointers + first_entry; columns += first_column.
struct PlaceCsr {
  static constexpr std::string_view name = "place_csr";
  Tensor row_pointers;  // i32 [n + 1, 1], from 0
  Tensor offsets;       // i64 [n + 1, 1]
  Tensor columns;       // i32 [z, 1], changed in place
  std::int64_t first_entry = 0, first_column = 0;
  Work work() const {
    using namespace operations_detail;
    return {0.0, bytes_of(row_pointers) + bytes_of(columns), bytes_of(offsets) + bytes_of(columns)};
  }
};

/// Finds entries given by coordinates: positions[i] counts from the snapshot's first entry. Each entry must exist.
struct LocateEntries {
  static constexpr std::string_view name = "locate_entries";
  Tensor offsets;             // i64 [n + 1, 1]
  Tensor columns;             // i32 [z, 1], the snapshot's
  Tensor coordinate_rows;     // i64 [k, 1]
  Tensor coordinate_columns;  // i64 [k, 1], without first_column
  Tensor positions;           // i32 [k, 1]
  std::int64_t first_column = 0;
  Work work() const {
    using namespace operations_detail;
    const double found = count(positions.rows()) * (2.0 * 8.0 + 2.0 * 8.0 + 4.0);
    return {0.0, found, bytes_of(positions)};
  }
};

/// The next snapshot from the one before it: the kept entries, with columns moved on by `column_shift`, merged with the
/// added ones; a row's columns ascend. Values are made only when `values` is defined: kept entries keep theirs, added
/// entries bring theirs, and entries at the positions `changed` (in the next snapshot) get new ones.
struct ApplyDifference {
  static constexpr std::string_view name = "apply_difference";
  Tensor before_offsets;  // i64 [n + 1, 1]
  Tensor before_columns;  // i32 [m, 1], the earlier snapshot's
  Tensor before_values;   // [m, 1] or undefined
  Tensor removed;         // i32 [k, 1], ascending positions in the earlier snapshot
  Tensor added_offsets;   // i64 [n + 1, 1], from 0
  Tensor added_columns;   // i32 [a, 1], numbered as in the next snapshot
  Tensor added_values;    // [a, 1] or undefined
  Tensor changed;         // i32 or i64 [c, 1], or undefined
  Tensor changed_values;  // [c, 1] or undefined
  Tensor offsets;         // i64 [n + 1, 1]: before_offsets[n] + entries of the next snapshot's rows before each
  Tensor columns;         // i32 [m - k + a, 1]
  Tensor values;          // [m - k + a, 1] or undefined
  std::int64_t column_shift = 0;
  Work work() const {
    using namespace operations_detail;
    double read = bytes_of(before_offsets) + bytes_of(before_columns) + bytes_of(removed) + bytes_of(added_offsets) +
                  bytes_of(added_columns);
    double written = bytes_of(offsets) + bytes_of(columns);
    if (values.defined()) {
      read += bytes_of(before_values) + bytes_of(added_values) + bytes_of(changed) + bytes_of(changed_values);
      written += bytes_of(values) + bytes_of(changed_values);
    }
    return {0.0, read, written};
  }
};

/// The transpose of a matrix. With b > 0, rows [k b, (k + 1) b) have columns only in the same range, as in a stack of
/// snapshots with b = n; with b = 0 columns may be anywhere. The entries of a column keep the order of their rows, so a
/// product with the transpose adds in the same order as scattering rows does.
struct TransposeCsr {
  static constexpr std::string_view name = "transpose_csr";
  Tensor offsets;             // i64 [rows + 1, 1], from 0
  Tensor columns;             // i32 [z, 1]
  Tensor values;              // [z, 1]
  Tensor transposed_offsets;  // i64 [columns + 1, 1], from 0
  Tensor transposed_columns;  // i32 [z, 1]: rows
  Tensor transposed_values;   // [z, 1]
  std::int64_t block_rows = 0;
  Work work() const {
    using namespace operations_detail;
    const double entries = bytes_of(columns) + bytes_of(values);
    // Reads the columns once more to count them; each entry reads its place and advances it.
    const double places = count(columns.rows()) * 2.0 * 8.0;
    return {0.0, bytes_of(offsets) + bytes_of(columns) + entries + places,
            bytes_of(transposed_offsets) + entries + places};
  }
};

}  // namespace strobe
