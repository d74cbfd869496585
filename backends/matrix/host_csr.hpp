// A rank's sparse matrix on the host, from which a device makes other forms.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/tensor.hpp"

namespace strobe {

/// The steps of a matrix, and its entries if the host has them. Rows of a step follow those of the step before.
struct HostCsr {
  std::vector<std::int64_t> step_rows = {0};  // [steps + 1]: where the rows of each step begin
  /// Rows of one snapshot, if every step with rows is a whole snapshot with columns in the range of its rows; otherwise
  /// 0.
  std::int64_t snapshot_rows = 0;
  bool has_entries = false;                 // whether the host has the fields below
  std::vector<std::int64_t> offsets = {0};  // [rows + 1]
  std::vector<std::int32_t> columns;        // [non-zeros], as SparseMatrix numbers them
  std::vector<float> values32;              // [non-zeros] in single precision, else empty
  std::vector<double> values64;             // [non-zeros] in double precision, else empty

  const void* values(ElementType type) const {
    return type == ElementType::f64 ? static_cast<const void*>(values64.data()) : values32.data();
  }
};

/// The transpose, whose rows are the `columns` columns of `csr`. Entries of a column keep the order of their rows, so a
/// product with it adds in the order in which scattering rows does. Cost O(non-zeros + columns).
HostCsr transposed(const HostCsr& csr, std::int64_t columns);

}  // namespace strobe
