// How far rows have moved.
#pragma once

#include <cmath>

#include "backends/operations/operations.hpp"

namespace strobe {

/// |x - y| of two rows of `width` elements: the L2 norm, summed in double in the order of the columns.
template <class T>
double row_distance(const T* x, const T* y, std::int64_t width) {
  double squares = 0;
  for (std::int64_t f = 0; f < width; ++f) {
    const double moved = static_cast<double>(x[f]) - static_cast<double>(y[f]);
    squares += moved * moved;
  }
  return std::sqrt(squares);
}

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
