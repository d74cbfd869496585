#include "backends/matrix/paired_matrix.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/device.hpp"
#include "backends/matrix/length_sorted_matrix.hpp"

namespace strobe {
namespace {

/// Calls visit(column within the step, first value, second value) for the union of row v of steps `first` and
/// `first + 1`, in order; the second step is empty when there is none.
template <class T, class Visit>
void merge_rows(const HostCsrView<T>& csr, std::int64_t step_rows, std::int64_t steps, std::int64_t first,
                std::int64_t v, const Visit& visit) {
  const std::size_t row = first * step_rows + v;
  const auto below = row + static_cast<std::size_t>(step_rows);
  const bool two = first + 1 < steps;
  auto a = static_cast<std::size_t>(csr.offsets[row]), b = two ? static_cast<std::size_t>(csr.offsets[below]) : 0;
  const std::size_t a_end = csr.offsets[row + 1];
  const auto b_end = two ? static_cast<std::size_t>(csr.offsets[below + 1]) : 0;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const std::int64_t a_shift = first * step_rows, b_shift = a_shift + step_rows;
  while (a < a_end || b < b_end) {
    const std::int64_t left = a < a_end ? csr.columns[a] - a_shift : none;
    const std::int64_t right = b < b_end ? csr.columns[b] - b_shift : none;
    visit(std::min(left, right), left <= right ? csr.values[a] : T{0}, right <= left ? csr.values[b] : T{0});
    a += left <= right ? 1 : 0;
    b += right <= left ? 1 : 0;
  }
}

/// Whether every row's columns lie in the diagonal block of its step.
template <class T>
bool block_diagonal(const HostCsrView<T>& csr, std::int64_t step_rows) {
  const auto rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::size_t begin = csr.offsets[row];
    const std::size_t end = csr.offsets[static_cast<std::size_t>(row) + 1];
    const std::int64_t first = row / step_rows * step_rows;
    if (begin < end && (csr.columns[begin] < first || csr.columns[end - 1] >= first + step_rows)) return false;
  }
  return true;
}

template <class Column, class T>
void fill(PairedMatrix& paired, Device& device, const HostCsrView<T>& csr, const StoredRows& rows) {
  std::vector<Column> columns;
  std::vector<T> values;
  columns.reserve(paired.entries);
  values.reserve(2 * paired.entries);
  for (std::int64_t p = 0; p < paired.pairs(); ++p) {
    for (std::int64_t i = 0; i < paired.step_rows; ++i) {
      const std::int64_t v = i / length_block_rows * length_block_rows + rows.order[p * paired.step_rows + i];
      merge_rows(csr, paired.step_rows, paired.steps, 2 * p, v, [&](std::int64_t column, T first, T second) {
        columns.push_back(static_cast<Column>(column));
        values.push_back(first);
        values.push_back(second);
      });
    }
  }
  const std::int64_t stored = rows.order.size();
  paired.offsets = device.move_in(rows.offsets.data(), stored + 1, 1, ElementType::i64);
  paired.order = device.move_in(rows.order.data(), stored, 1, ElementType::u8);
  paired.columns = device.move_in(columns.data(), paired.entries, sizeof(Column), ElementType::u8);
  paired.values = device.move_in(values.data(), paired.entries, 2, element_type_of<T>);
}

}  // namespace

template <class T>
std::shared_ptr<const PairedMatrix> pair_steps(Device& device, const HostCsrView<T>& csr, std::int64_t step_rows,
                                               double most) {
  const auto rows = static_cast<std::int64_t>(csr.offsets.size()) - 1;
  if (step_rows == 0 || rows % step_rows != 0 || rows < 2 * step_rows || !block_diagonal(csr, step_rows))
    return nullptr;
  auto paired = std::make_shared<PairedMatrix>();
  paired->steps = rows / step_rows;
  paired->step_rows = step_rows;
  paired->narrow = step_rows <= std::numeric_limits<std::uint16_t>::max() + std::int64_t{1};
  StoredRows stored;
  std::vector<std::int64_t> lengths(step_rows);
  for (std::int64_t p = 0; p < paired->pairs(); ++p) {
    std::fill(lengths.begin(), lengths.end(), 0);
    for (std::int64_t v = 0; v < step_rows; ++v)
      merge_rows(csr, step_rows, paired->steps, 2 * p, v, [&](std::int64_t, T, T) { ++lengths[v]; });
    for (std::int64_t v = 0; v < step_rows; v += length_block_rows)
      stored.add_block(lengths.data() + v, std::min(length_block_rows, step_rows - v));
  }
  paired->entries = stored.offsets.back();
  if (static_cast<double>(paired->entries) > most * static_cast<double>(csr.columns.size())) return nullptr;
  paired->narrow ? fill<std::uint16_t>(*paired, device, csr, stored) : fill<std::int32_t>(*paired, device, csr, stored);
  return paired;
}

template std::shared_ptr<const PairedMatrix> pair_steps(Device&, const HostCsrView<float>&, std::int64_t, double);
template std::shared_ptr<const PairedMatrix> pair_steps(Device&, const HostCsrView<double>&, std::int64_t, double);

}  // namespace strobe
