#include "backends/matrix/stored_forms.hpp"

#include <algorithm>
#include <limits>

#include "backends/device.hpp"
#include "backends/operations/operations_store.hpp"

namespace strobe {
namespace {

constexpr std::int64_t any_width = std::numeric_limits<std::int64_t>::max() / 64;

/// Decides which products the narrow forms serve.
class NarrowProducts {
 public:
  NarrowProducts(const MatrixUse& use, const FormHabits& habits, ElementType type)
      : bytes_(static_cast<std::int64_t>(element_bytes(type))), register_(habits.narrow_bytes) {
    for (const MatrixProduct& product : use.products) {
      const std::int64_t width = use.reads_entries ? any_width : gathered(product);
      least_ = least_ == 0 ? width : std::min(least_, width);
      most_ = std::max(most_, width);
    }
  }

  bool pairs_serve_any() const { return in_pairs(least_); }
  bool pairs_serve_all() const { return in_pairs(most_); }
  /// For products that pairs do not serve, when there are pairs.
  bool lengths_serve_any(bool paired) const { return by_length(paired ? most_ : least_); }
  bool lengths_serve_all() const { return by_length(most_); }

 private:
  bool in_pairs(std::int64_t width) const { return width > 0 && 2 * width * bytes_ <= register_; }
  bool by_length(std::int64_t width) const { return width > 0 && width * bytes_ <= 2 * register_; }

  /// Columns that a product gathers: the input columns of a layer that is computed again, if pairs serve it. Otherwise
  /// its output columns, which decide for rows by length.
  std::int64_t gathered(const MatrixProduct& product) const {
    if (!product.repeated) return product.columns;
    const RepeatedLayer& layer = *product.repeated;
    const std::int64_t registers = layer.weight_per_step ? 1 : 3;
    const std::int64_t width = layer.weight_per_step ? std::max(product.columns, layer.outputs) : product.columns;
    return 2 * width * bytes_ <= registers * register_ ? layer.inputs : width;
  }

  std::int64_t bytes_, register_;
  std::int64_t least_ = 0, most_ = 0;  // columns; 0 when there is no product
};

/// `csr`, rows of the steps of `host`, two steps at a time. Null unless all steps with rows have the same number of
/// rows and read no columns of other ranks.
std::shared_ptr<const PairedMatrix> pairs_of(Device& memory, const SparseMatrix& a, const HostCsr& csr,
                                             const HostCsr& host) {
  std::int64_t rows = 0;
  for (std::size_t t = 0; t + 1 < host.step_rows.size(); ++t) {
    const std::int64_t here = host.step_rows[t + 1] - host.step_rows[t];
    if (here != 0 && rows != 0 && here != rows) return nullptr;
    rows = std::max(rows, here);
  }
  if (!csr.has_entries || a.columns != a.rows) return nullptr;
  if (memory.precision() == ElementType::f64) {
    return pair_steps<double>(memory, {csr.offsets, csr.columns, csr.values64}, rows);
  }
  return pair_steps<float>(memory, {csr.offsets, csr.columns, csr.values32}, rows);
}

/// `csr`, the `rows` rows of `a` or of its transpose, with rows by length; without entries, from the number of rows
/// alone.
std::shared_ptr<const LengthSortedMatrix> sorted_of(Device& memory, const SparseMatrix& a, const HostCsr& csr,
                                                    const HostCsr& host, std::int64_t rows) {
  if (!csr.has_entries) {
    std::int64_t most = 0;
    for (std::size_t t = 0; t + 1 < host.step_rows.size(); ++t)
      most = std::max(most, host.step_rows[t + 1] - host.step_rows[t]);
    const std::int64_t span = a.columns != a.rows ? a.columns : std::min(a.columns, 2 * most);
    return length_sorted_shape(memory, rows, a.nonzeros, span);
  }
  if (memory.precision() == ElementType::f64) {
    return sort_by_length<double>(memory, {csr.offsets, csr.columns, csr.values64});
  }
  return sort_by_length<float>(memory, {csr.offsets, csr.columns, csr.values32});
}

/// Forms for many passes. When a form serves every product, the plain transpose is not stored in addition to the form's
/// own.
void add_lasting_forms(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use,
                       const FormHabits& habits) {
  const NarrowProducts narrow(use, habits, memory.precision());
  if (narrow.pairs_serve_any()) a.paired = pairs_of(memory, a, host, host);
  const bool sorted = !(a.paired && narrow.pairs_serve_all()) && narrow.lengths_serve_any(a.paired != nullptr);
  if (sorted) a.by_length = sorted_of(memory, a, host, host, a.rows);
  if (!use.backward() || !habits.transpose) return;
  const HostCsr turned = host.has_entries ? transposed(host, a.columns) : HostCsr();
  if (a.paired) a.paired_transpose = pairs_of(memory, a, turned, host);
  if (a.paired_transpose && narrow.pairs_serve_all()) return;
  if (sorted && narrow.lengths_serve_all()) {
    a.transpose_by_length = sorted_of(memory, a, turned, host, a.columns);
    return;
  }
  a.transposed_offsets = memory.move_in(turned.offsets.data(), a.columns + 1, 1, ElementType::i64);
  a.transposed_indices = memory.move_in(turned.columns.data(), a.nonzeros, 1, ElementType::i32);
  a.transposed_values = memory.move_in(turned.values(memory.precision()), a.nonzeros, 1, memory.precision());
}

/// Forms for one pass.
void add_passing_forms(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use,
                       const FormHabits& habits) {
  if (!habits.transpose || !use.reads_entries || !use.backward() || host.snapshot_rows == 0 || a.rows == 0) return;
  a.transposed_offsets = memory.allocate(a.columns + 1, 1, ElementType::i64);
  a.transposed_indices = memory.allocate(a.nonzeros, 1, ElementType::i32);
  a.transposed_values = memory.allocate(a.nonzeros, 1);
  memory.run(TransposeCsr{a.row_offsets, a.column_indices, a.values, a.transposed_offsets, a.transposed_indices,
                          a.transposed_values, host.snapshot_rows});
}

}  // namespace

bool entries_decide_forms(const MatrixUse& use, const FormHabits& habits) {
  return use.lasting && habits.narrow_bytes > 0;
}

void add_forms(Device& memory, SparseMatrix& a, const HostCsr& host, const MatrixUse& use, const FormHabits& habits) {
  use.lasting ? add_lasting_forms(memory, a, host, use, habits) : add_passing_forms(memory, a, host, use, habits);
}

}  // namespace strobe
