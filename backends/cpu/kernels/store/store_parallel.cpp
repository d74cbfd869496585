// Reconstruction of snapshots on several threads. Ranges of rows or entries are tasks: where a task begins in every
// list follows from the offsets and one binary search in the removed positions, which ascend. Most of a snapshot stays
// as it was, so whatever lies between two changes is copied at once; removed and added entries are found by binary
// search. Cost: the bytes read and written, and O(log) per removed and added entry.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;

constexpr std::int64_t entries_per_task = 1 << 16;
constexpr std::int64_t sparse_changes = 24;  // entries of a row for each change, above which changes are looked up
constexpr std::int32_t above_columns = std::numeric_limits<std::int32_t>::max();

/// to[i] = from[i] + shift.
template <class To, class From>
void copy_shifted(To* to, const From* from, std::int64_t count, To shift) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]) + shift;
}

/// Each entry writes the offsets of the rows that begin with it: those after the row of the entry before.
template <class Index>
void coo_to_csr(const CooToCsr& op, KernelContext& context) {
  const Index* rows = op.coordinate_rows.data<Index>();
  std::int64_t* offsets = op.offsets.data<std::int64_t>();
  const std::int64_t entries = op.columns.rows(), last_row = op.offsets.rows() - 1;
  for_ranges(context, entries, entries_per_task, [&](std::int64_t begin, std::int64_t end) {
    copy_shifted(op.columns.data<std::int32_t>() + begin, op.coordinate_columns.data<Index>() + begin, end - begin,
                 static_cast<std::int32_t>(op.first_column));
    std::int64_t row = begin == 0 ? -1 : static_cast<std::int64_t>(rows[begin - 1]);
    for (std::int64_t e = begin; e < end; ++e) {
      for (; row < static_cast<std::int64_t>(rows[e]); ++row) offsets[row + 1] = op.first_entry + e;
    }
  });
  std::int64_t row = entries == 0 ? -1 : static_cast<std::int64_t>(rows[entries - 1]);
  for (; row < last_row; ++row) offsets[row + 1] = op.first_entry + entries;
}

void run_coo_to_csr(const CooToCsr& op, KernelContext& context) {
  op.coordinate_rows.type() == ElementType::i64 ? coo_to_csr<std::int64_t>(op, context)
                                                : coo_to_csr<std::int32_t>(op, context);
}

void run_place_csr(const PlaceCsr& op, KernelContext& context) {
  std::int64_t* offsets = op.offsets.data<std::int64_t>();
  std::int32_t* columns = op.columns.data<std::int32_t>();
  for_ranges(context, op.offsets.rows(), entries_per_task, [&](std::int64_t begin, std::int64_t end) {
    copy_shifted(offsets + begin, op.row_pointers.data<std::int32_t>() + begin, end - begin, op.first_entry);
  });
  for_ranges(context, op.columns.rows(), entries_per_task, [&](std::int64_t begin, std::int64_t end) {
    copy_shifted(columns + begin, columns + begin, end - begin, static_cast<std::int32_t>(op.first_column));
  });
}

void run_locate(const LocateEntries& op, KernelContext& context) {
  const std::int64_t* offsets = op.offsets.data<std::int64_t>();
  const std::int32_t* columns = op.columns.data<std::int32_t>();
  for_ranges(context, op.positions.rows(), entries_per_task / 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = op.coordinate_rows.data<std::int64_t>()[i];
      const std::int64_t column = op.coordinate_columns.data<std::int64_t>()[i] + op.first_column;
      const std::int32_t* first = columns + (offsets[row] - offsets[0]);
      const std::int32_t* last = columns + (offsets[row + 1] - offsets[0]);
      op.positions.data<std::int32_t>()[i] = static_cast<std::int32_t>(std::lower_bound(first, last, column) - columns);
    }
  });
}

/// Rows of one ApplyDifference; values are left alone when `next_values` is null.
template <class T>
class Reconstruction {
 public:
  explicit Reconstruction(const ApplyDifference& op)
      : before_(op.before_offsets.data<std::int64_t>()),
        added_(op.added_offsets.data<std::int64_t>()),
        old_columns_(op.before_columns.data<std::int32_t>()),
        new_columns_(op.added_columns.data<std::int32_t>()),
        removed_(op.removed.data<std::int32_t>()),
        removed_end_(op.removed.data<std::int32_t>() + op.removed.rows()),
        old_values_(op.values.defined() ? op.before_values.data<T>() : nullptr),
        new_values_(op.values.defined() ? op.added_values.data<T>() : nullptr),
        offsets_(op.offsets.data<std::int64_t>()),
        columns_(op.columns.data<std::int32_t>()),
        values_(op.values.defined() ? op.values.data<T>() : nullptr),
        base_(before_[0]),
        first_(before_[op.offsets.rows() - 1]),
        shift_(static_cast<std::int32_t>(op.column_shift)) {
    offsets_[0] = first_;  // in a stack the number that ends the earlier snapshot; written before tasks read that
  }

  void rows(std::int64_t begin, std::int64_t end) const {
    Place at{before_[begin] - base_, before_[begin] - base_, 0};
    const std::int32_t* next = std::lower_bound(removed_, removed_end_, static_cast<std::int32_t>(at.kept));
    at.out = at.kept - (next - removed_) + added_[begin];
    Row scratch;
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t row_end = before_[row + 1] - base_;
      if (added_[row + 1] == added_[row] && (next == removed_end_ || *next >= row_end)) {
        at.seen = row_end;
      } else {
        next = changed_row(row, row_end, next, at, scratch);
      }
      offsets_[row + 1] = first_ + at.out + (at.seen - at.kept);
    }
    flush(at);
  }

 private:
  /// Old entries [kept, seen) stay and are not yet copied; they go to `out`.
  struct Place {
    std::int64_t kept, seen, out;
  };

  /// One row's entries, gathered: those that stay with their positions, and those that join it.
  struct Row {
    std::vector<std::int32_t> columns, joining;
    std::vector<std::int64_t> positions;
    std::int64_t kept = 0, added = 0, added_begin = 0;

    void resize(std::int64_t stay, std::int64_t join) {
      const auto needed = static_cast<std::size_t>(stay) + 1, others = static_cast<std::size_t>(join) + 1;
      if (columns.size() < needed) columns.resize(2 * needed), positions.resize(2 * needed);
      if (joining.size() < others) joining.resize(2 * others);
    }
  };

  void flush(Place& at) const {
    const std::int64_t count = at.seen - at.kept;
    copy_shifted(columns_ + at.out, old_columns_ + at.kept, count, shift_);
    if (values_ != nullptr && count > 0) {
      std::memcpy(values_ + at.out, old_values_ + at.kept, static_cast<std::size_t>(count) * sizeof(T));
    }
    at.out += count;
    at.kept = at.seen;
  }

  /// Writes a row with removed or added entries; returns the next removed entry after it.
  const std::int32_t* changed_row(std::int64_t row, std::int64_t row_end, const std::int32_t* next, Place& at,
                                  Row& scratch) const {
    const std::int32_t* last = next;
    while (last != removed_end_ && *last < row_end) ++last;
    const std::int64_t changes = added_[row + 1] - added_[row] + (last - next);
    if (row_end - at.seen > sparse_changes * changes) return insert_into(row, row_end, next, at);
    flush(at);
    gather(row, row_end, next, last, at.kept, scratch);
    merge(scratch, at.out);
    at.out += scratch.kept + scratch.added;
    at.kept = at.seen = row_end;
    return last;
  }

  /// Gathers the kept and the added entries of a row; each list ends with a number above every column.
  void gather(std::int64_t row, std::int64_t row_end, const std::int32_t* next, const std::int32_t* last,
              std::int64_t begin, Row& scratch) const {
    scratch.added_begin = added_[row];
    scratch.added = added_[row + 1] - added_[row];
    scratch.resize(row_end - begin, scratch.added);
    std::int64_t kept = 0;
    for (std::int64_t e = begin; e < row_end; ++e) {
      scratch.columns[kept] = old_columns_[e] + shift_;
      scratch.positions[kept] = e;
      const bool gone = next != last && *next == e;
      next += static_cast<std::ptrdiff_t>(gone);
      kept += static_cast<std::int64_t>(!gone);
    }
    scratch.kept = kept;
    scratch.columns[kept] = above_columns;
    std::copy_n(new_columns_ + scratch.added_begin, scratch.added, scratch.joining.begin());
    scratch.joining[scratch.added] = above_columns;
  }

  /// Both lists in order, without branches on their columns.
  void merge(const Row& row, std::int64_t out) const {
    const std::int32_t *kept = row.columns.data(), *joining = row.joining.data();
    const std::int64_t* positions = row.positions.data();
    std::int64_t i = 0, j = 0;
    for (std::int64_t o = out; o < out + row.kept + row.added; ++o) {
      const bool joins = joining[j] < kept[i];
      columns_[o] = joins ? joining[j] : kept[i];
      if (values_ != nullptr) {
        const T* from = joins ? new_values_ + row.added_begin + j : old_values_ + positions[i];
        values_[o] = *from;
      }
      j += static_cast<std::int64_t>(joins);
      i += static_cast<std::int64_t>(!joins);
    }
  }

  /// For few changes: walks the removed entries of the row and, between them, the added ones.
  const std::int32_t* insert_into(std::int64_t row, std::int64_t row_end, const std::int32_t* next, Place& at) const {
    std::int64_t added = added_[row];
    while (true) {
      const std::int64_t stop = next != removed_end_ && *next < row_end ? *next : row_end;
      for (; added < added_[row + 1]; ++added) {
        const std::int32_t* place =
            std::lower_bound(old_columns_ + at.seen, old_columns_ + stop, new_columns_[added] - shift_);
        // After a removed entry the place may be further on; before it, all is decided.
        if (place == old_columns_ + stop && stop < row_end && old_columns_[stop] < new_columns_[added] - shift_) break;
        at.seen = place - old_columns_;
        flush(at);
        columns_[at.out] = new_columns_[added];
        if (values_ != nullptr) values_[at.out] = new_values_[added];
        ++at.out;
      }
      at.seen = stop;
      if (stop == row_end) return next;
      flush(at);
      at.kept = at.seen = stop + 1;
      ++next;
    }
  }

  const std::int64_t *before_, *added_;
  const std::int32_t *old_columns_, *new_columns_, *removed_, *removed_end_;
  const T *old_values_, *new_values_;
  std::int64_t* offsets_;
  std::int32_t* columns_;
  T* values_;
  std::int64_t base_, first_;
  std::int32_t shift_;
};

template <class T, class Index>
void replace_values(const ApplyDifference& op, KernelContext& context) {
  for_ranges(context, op.changed.rows(), entries_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      op.values.data<T>()[op.changed.data<Index>()[i]] = op.changed_values.data<T>()[i];
  });
}

void run_apply_difference(const ApplyDifference& op, KernelContext& context) {
  const ElementType type = op.values.defined() ? op.values.type() : ElementType::f32;
  cpu::with_element(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = op.offsets.rows() - 1;
    const Reconstruction<T> work(op);
    if (rows == 0) return;
    const std::int64_t tasks = std::max<std::int64_t>(1, cpu::divide_up(op.columns.rows(), entries_per_task));
    for_ranges(context, rows, cpu::divide_up(rows, tasks),
               [&](std::int64_t begin, std::int64_t end) { work.rows(begin, end); });
    if (!op.values.defined() || !op.changed.defined()) return;
    op.changed.type() == ElementType::i64 ? replace_values<T, std::int64_t>(op, context)
                                          : replace_values<T, std::int32_t>(op, context);
  });
}

const RegisterKernel<CooToCsr> coo_parallel{"cpu", {"parallel", 10, nullptr, run_coo_to_csr}};
const RegisterKernel<PlaceCsr> place_parallel{"cpu", {"parallel", 10, nullptr, run_place_csr}};
const RegisterKernel<LocateEntries> locate_parallel{"cpu", {"parallel", 10, nullptr, run_locate}};
const RegisterKernel<ApplyDifference> apply_parallel{"cpu", {"parallel", 10, nullptr, run_apply_difference}};

}  // namespace
}  // namespace strobe
