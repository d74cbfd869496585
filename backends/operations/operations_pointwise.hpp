// Operations on every value by itself, for models that are put together from single operations (captured models). Terms
// are those of operations.hpp.
#pragma once

#include <cstdint>

#include "backends/operations/operations.hpp"

namespace strobe {

/// A function of one value whose slope follows from its result.
enum class Curve : std::uint8_t {
  affine,      // p x + q
  sigmoid,     // 1 / (1 + exp(-x))
  leaky_relu,  // x where x > 0, else p x; p = 0 is ReLU
  elu,         // x where x > 0, else p (exp(x) - 1)
};

/// y = curve(x), same shape.
struct Pointwise {
  static constexpr std::string_view name = "pointwise";
  Tensor x, y;
  Curve curve = Curve::affine;
  double p = 1, q = 0;
  Work work() const {
    using namespace operations_detail;
    const double each = curve == Curve::sigmoid || curve == Curve::elu ? 4.0 : 2.0;
    return {each * count(x.elements()), bytes_of(x), bytes_of(y)};
  }
};

/// Backward of Pointwise from its result: dx (+)= dy curve'(x). At x = 0 a leaky_relu has the slope p, as in PyTorch.
struct PointwiseBackward {
  static constexpr std::string_view name = "pointwise_backward";
  Tensor y, dy, dx;
  Curve curve = Curve::affine;
  double p = 1;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {3.0 * count(y.elements()), bytes_of(y) + bytes_of(dy) + (accumulate ? bytes_of(dx) : 0.0), bytes_of(dx)};
  }
};

/// y (+)= x * z, value by value, same shape.
struct Multiply {
  static constexpr std::string_view name = "multiply";
  Tensor x, z, y;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {(accumulate ? 2.0 : 1.0) * count(y.elements()),
            bytes_of(x) + bytes_of(z) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y)};
  }
};

}  // namespace strobe
