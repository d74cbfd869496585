// Index lists on a device.
#pragma once

#include <vector>

#include "backends/device.hpp"
#include "models/ops/ops_packed_rows.hpp"

namespace strobe {

inline Tensor list_of(Device& device, const std::vector<std::int64_t>& values, std::int64_t count) {
  return device.move_in(values.data(), count, 1, ElementType::i64);
}

inline Tensor list_of(Device& device, const std::vector<std::int32_t>& values, std::int64_t rows,
                      std::int64_t columns) {
  return device.move_in(values.data(), rows, columns, ElementType::i32);
}

/// Rows that go to places 0, 1, 2, ...
inline PackedRows rows_on_device(Device& device, const std::vector<std::int64_t>& rows) {
  const std::int64_t count = rows.size();
  return {list_of(device, rows, count), {}, count};
}

/// Lists of rows and of bin rows, from the cell's row of each bin row; -1 marks padding.
inline PackedRows rows_in_bins(Device& device, const std::vector<std::int64_t>& row_of_bin_row) {
  std::vector<std::int64_t> rows, places;
  for (std::size_t place = 0; place < row_of_bin_row.size(); ++place) {
    if (row_of_bin_row[place] < 0) continue;
    rows.push_back(row_of_bin_row[place]);
    places.push_back(static_cast<std::int64_t>(place));
  }
  const std::int64_t count = rows.size();
  return {list_of(device, rows, count), list_of(device, places, count), count};
}

}  // namespace strobe
