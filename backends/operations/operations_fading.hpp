// Operations of the readings that TM-GCN's public code has (IBM/TM-GCN, read_data.m and embedding_help_functions.py): a
// sum over the past with fading weights, and the activation SELU. Terms are those of operations.hpp.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// M-transform with weights 1 / distance: y_t = sum over s in [t-w+1, t], s >= 0, of x_s / (t - s + 1); x, y [T n, F].
/// Backward: dx_s = sum over t in [s, s+w-1], t < T, of dy_t / (t - s + 1), with dy for x and dx for y.
struct FadingSum {
  static constexpr std::string_view name = "fading_sum";
  Tensor x, y;
  std::int64_t steps = 0;
  std::int64_t window = 1;
  bool backward = false;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    const double terms = count(window < steps ? window : steps);
    return {2.0 * terms * count(x.elements()), bytes_of(x) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y)};
  }
};

/// SELU (Klambauer et al., NIPS'17): y = scale x where x > 0, else scale alpha (exp(x) - 1).
struct Selu {
  static constexpr std::string_view name = "selu";
  static constexpr double scale = 1.0507009873554804934, alpha = 1.6732632423543772848;
  Tensor x, y;
  Work work() const {
    using namespace operations_detail;
    return {8.0 * count(x.elements()), bytes_of(x), bytes_of(y)};
  }
};

/// Backward of Selu from its result: dx (+)= dy scale where y > 0, else dy (y + scale alpha).
struct SeluBackward {
  static constexpr std::string_view name = "selu_backward";
  Tensor y, dy, dx;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(y.elements()), bytes_of(y) + bytes_of(dy) + (accumulate ? bytes_of(dx) : 0.0), bytes_of(dx)};
  }
};

}  // namespace strobe
