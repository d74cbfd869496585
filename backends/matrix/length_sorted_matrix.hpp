// A sparse matrix with the rows of every block of 128 stored from the shortest to the longest, for products with narrow
// dense matrices. Consecutive rows of one length end where the processor expects it: in a compressed matrix with
// a few entries a row, one wrong guess a row costs more than the row's multiply-adds. Where the columns of every block
// lie close together they are 16-bit numbers, counted from the block's first column.
// Invariant: the entries of a row are those of the compressed row, in its order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/matrix/host_csr_view.hpp"
#include "backends/tensor.hpp"

namespace strobe {

class Device;

/// Rows of a block of LengthSortedMatrix and of PairedMatrix; the last one may be shorter.
inline constexpr std::int64_t length_block_rows = 128;

struct LengthSortedMatrix {
  std::int64_t rows = 0;
  std::int64_t entries = 0;
  bool narrow = false;  // columns are u16, not i32
  Tensor offsets;       // i64 [rows + 1, 1], of rows as they are stored
  Tensor order;         // the row of its block that each stored row is
  Tensor bases;         // the column that a block's columns count from
  Tensor columns;       // u8 [entries, 2 or 4]: the bytes of u16 or i32
  Tensor values;        // [entries, 1]

  std::int64_t blocks() const { return (rows + length_block_rows - 1) / length_block_rows; }
};

/// The offsets of rows in storage order: block after block, within a block by length.
struct StoredRows {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::uint8_t> order;

  /// Adds a block of at most length_block_rows rows with `lengths` entries each; equal lengths stay in order.
  void add_block(const std::int64_t* lengths, std::int64_t rows);
};

/// The number of columns that 16 bits can number.
inline constexpr std::int64_t most_narrow_columns = std::int64_t{1} << 16;

/// `csr` with its rows sorted by length, on the device; columns are narrow if every block of
/// rows reads from at most `most_narrow` columns. Cost O(nnz + rows).
template <class T>
std::shared_ptr<const LengthSortedMatrix> sort_by_length(Device& device, const HostCsrView<T>& csr,
                                                         std::int64_t most_narrow = most_narrow_columns);

/// The same for a matrix that is known only by its shape, on a device without values. Columns count as narrow when
/// `span`, the columns that neighbouring rows read from, is at most 2^16.
std::shared_ptr<const LengthSortedMatrix> length_sorted_shape(Device& device, std::int64_t rows, std::int64_t nonzeros,
                                                              std::int64_t span);

}  // namespace strobe
