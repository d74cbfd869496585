// Cases and judges of the distances between rows: Pythagoras from hypot, column by column.
#pragma once

#include <cmath>

#include "backends/operations/operations_distance.hpp"
#include "tests/conformance/operations/update.hpp"

namespace strobe::conformance {

inline std::vector<Output> judge_row_distances(Device& device, std::int64_t rows, std::int64_t columns) {
  const std::vector<double> x = random_values(rows * columns, 221);
  std::vector<double> y = random_values(rows * columns, 222);
  for (std::int64_t f = 0; f < columns && rows > 1; ++f) {  // a row that has not moved
    y[columns + f] = x[columns + f];
  }
  std::vector<Judged> expected;
  for (std::int64_t r = 0; r < rows; ++r) {
    double length = 0;
    for (std::int64_t f = 0; f < columns; ++f) {
      const std::size_t at = r * columns + f;
      length = std::hypot(length, x[at] - y[at]);
    }
    expected.push_back({length, length});
  }
  const RowDistances op{upload(device, x, rows, columns), upload(device, y, rows, columns),
                        device.allocate(rows, 1, ElementType::f64)};
  device.run(op);
  return {{"distance", download(device, op.distance), expected}};
}

inline std::vector<OperationCase> row_distances_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : update_shapes()) {
    cases.push_back({"", shape_name(rows, columns), [=, rows = rows, columns = columns](Device& device) {
                       return judge_row_distances(device, rows, columns);
                     }});
  }
  return cases;
}

}  // namespace strobe::conformance
