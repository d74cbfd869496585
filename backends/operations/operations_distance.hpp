// How far rows have moved.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// distance[R, 1] (f64): distance_i = |x_i - y_i|, the L2 norm over the columns of x, y [R, F], summed in double. A row
/// with a NaN has distance NaN.
struct RowDistances {
  static constexpr std::string_view name = "row_distances";
  Tensor x, y, distance;
  Work work() const {
    using namespace operations_detail;
    return {3.0 * count(x.elements()) + count(x.rows()), bytes_of(x) + bytes_of(y), bytes_of(distance)};
  }
};

}  // namespace strobe
