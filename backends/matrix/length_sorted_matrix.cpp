#include "backends/matrix/length_sorted_matrix.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "backends/device.hpp"

namespace strobe {
namespace {

StoredRows stored_rows(std::span<const std::int64_t> offsets) {
  StoredRows stored;
  const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
  stored.offsets.reserve(offsets.size());
  stored.order.reserve(rows);
  std::array<std::int64_t, length_block_rows> lengths;
  for (std::int64_t first = 0; first < rows; first += length_block_rows) {
    const std::int64_t here = std::min(length_block_rows, rows - first);
    for (std::int64_t r = 0; r < here; ++r) {
      const std::size_t row = first + r;
      lengths[r] = offsets[row + 1] - offsets[row];
    }
    stored.add_block(lengths.data(), here);
  }
  return stored;
}

/// The first column of every block, and whether each reads from at most `most_narrow` columns.
template <class T>
bool find_bases(const HostCsrView<T>& csr, std::int64_t most_narrow, std::vector<std::int32_t>& bases) {
  const auto rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  bool narrow = true;
  for (std::int64_t first = 0; first < rows; first += length_block_rows) {
    const std::int64_t last = std::min(rows, first + length_block_rows);
    const auto begin = csr.columns.begin() + csr.offsets[first];
    const auto end = csr.columns.begin() + csr.offsets[last];
    const auto [low, high] = std::minmax_element(begin, end);
    bases.push_back(begin == end ? 0 : *low);
    narrow = narrow && (begin == end || *high - *low < most_narrow);
  }
  return narrow;
}

template <class Column, class T>
void fill(LengthSortedMatrix& sorted, Device& device, const HostCsrView<T>& csr, const StoredRows& rows,
          const std::vector<std::int32_t>& bases) {
  std::vector<Column> columns;
  std::vector<T> values;
  columns.reserve(csr.columns.size());
  values.reserve(csr.columns.size());
  for (std::int64_t r = 0; r < sorted.rows; ++r) {
    const std::int64_t block = r / length_block_rows;
    const std::int32_t base = bases[block];
    const auto row = static_cast<std::size_t>(block * length_block_rows) + rows.order[r];
    for (std::size_t k = csr.offsets[row]; k < static_cast<std::size_t>(csr.offsets[row + 1]); ++k) {
      columns.push_back(static_cast<Column>(csr.columns[k] - base));
      values.push_back(csr.values[k]);
    }
  }
  sorted.columns = device.move_in(columns.data(), sorted.entries, sizeof(Column), ElementType::u8);
  sorted.values = device.move_in(values.data(), sorted.entries, 1, element_type_of<T>);
}

}  // namespace

void StoredRows::add_block(const std::int64_t* lengths, std::int64_t rows) {
  std::array<std::uint8_t, length_block_rows> block;
  const auto end = block.begin() + rows;
  std::iota(block.begin(), end, std::uint8_t{0});
  std::stable_sort(block.begin(), end, [&](std::uint8_t a, std::uint8_t b) { return lengths[a] < lengths[b]; });
  for (auto row = block.begin(); row != end; ++row) offsets.push_back(offsets.back() + lengths[*row]);
  order.insert(order.end(), block.begin(), end);
}

template <class T>
std::shared_ptr<const LengthSortedMatrix> sort_by_length(Device& device, const HostCsrView<T>& csr,
                                                         std::int64_t most_narrow) {
  auto sorted = std::make_shared<LengthSortedMatrix>();
  sorted->rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  sorted->entries = static_cast<std::int64_t>(csr.columns.size());
  const StoredRows stored = stored_rows(csr.offsets);
  std::vector<std::int32_t> bases;
  sorted->narrow = find_bases(csr, most_narrow, bases);
  if (!sorted->narrow) std::fill(bases.begin(), bases.end(), 0);
  sorted->offsets = device.move_in(stored.offsets.data(), sorted->rows + 1, 1, ElementType::i64);
  sorted->order = device.move_in(stored.order.data(), sorted->rows, 1, ElementType::u8);
  sorted->bases = device.move_in(bases.data(), sorted->blocks(), 1, ElementType::i32);
  sorted->narrow ? fill<std::uint16_t>(*sorted, device, csr, stored, bases)
                 : fill<std::int32_t>(*sorted, device, csr, stored, bases);
  return sorted;
}

std::shared_ptr<const LengthSortedMatrix> length_sorted_shape(Device& device, std::int64_t rows, std::int64_t nonzeros,
                                                              std::int64_t span) {
  auto sorted = std::make_shared<LengthSortedMatrix>();
  sorted->rows = rows;
  sorted->entries = nonzeros;
  sorted->narrow = span <= most_narrow_columns;
  sorted->offsets = device.move_in(nullptr, rows + 1, 1, ElementType::i64);
  sorted->order = device.move_in(nullptr, rows, 1, ElementType::u8);
  sorted->bases = device.move_in(nullptr, sorted->blocks(), 1, ElementType::i32);
  const std::int64_t bytes = sorted->narrow ? sizeof(std::uint16_t) : sizeof(std::int32_t);
  sorted->columns = device.move_in(nullptr, nonzeros, bytes, ElementType::u8);
  sorted->values = device.move_in(nullptr, nonzeros, 1, device.precision());
  return sorted;
}

template std::shared_ptr<const LengthSortedMatrix> sort_by_length(Device&, const HostCsrView<float>&, std::int64_t);
template std::shared_ptr<const LengthSortedMatrix> sort_by_length(Device&, const HostCsrView<double>&, std::int64_t);

}  // namespace strobe
