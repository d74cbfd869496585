// Reverse-mode differentiation of scalars in double: judges of long operations write down the forward definition only,
// and their gradients follow from it, not from formulas derived by hand.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace strobe::conformance {

/// A value of a ScalarTape.
struct Scalar {
  std::int32_t at = -1;
};

class ScalarTape {
 public:
  Scalar constant(double value) { return push(value, {}, 0, {}, 0, {}, 0); }
  std::vector<Scalar> constants(const std::vector<double>& values) {
    std::vector<Scalar> result;
    for (const double value : values) result.push_back(constant(value));
    return result;
  }

  Scalar add(Scalar a, Scalar b) { return push(value(a) + value(b), a, 1, b, 1, {}, 0); }
  Scalar multiply(Scalar a, Scalar b) { return push(value(a) * value(b), a, value(b), b, value(a), {}, 0); }
  /// a b + c
  Scalar multiply_add(Scalar a, Scalar b, Scalar c) {
    return push(value(a) * value(b) + value(c), a, value(b), b, value(a), c, 1);
  }
  /// 1 - a
  Scalar complement(Scalar a) { return push(1 - value(a), a, -1, {}, 0, {}, 0); }
  Scalar sigmoid(Scalar a) {
    const double y = 1 / (1 + std::exp(-value(a)));
    return push(y, a, y * (1 - y), {}, 0, {}, 0);
  }
  Scalar tanh(Scalar a) {
    const double y = std::tanh(value(a));
    return push(y, a, 1 - y * y, {}, 0, {}, 0);
  }
  Scalar relu(Scalar a) { return value(a) > 0 ? scale(a, 1) : scale(a, 0); }

  Scalar scale(Scalar a, double factor) { return push(value(a) * factor, a, factor, {}, 0, {}, 0); }
  Scalar exponential(Scalar a) { return push(std::exp(value(a)), a, std::exp(value(a)), {}, 0, {}, 0); }
  Scalar logarithm(Scalar a) { return push(std::log(value(a)), a, 1 / value(a), {}, 0, {}, 0); }
  /// a / b
  Scalar divide(Scalar a, Scalar b) {
    return push(value(a) / value(b), a, 1 / value(b), b, -value(a) / (value(b) * value(b)), {}, 0);
  }

  double value(Scalar a) const { return nodes_[a.at].value; }
  double& gradient(Scalar a) { return nodes_[a.at].gradient; }
  double gradient(Scalar a) const { return nodes_[a.at].gradient; }

  /// Propagates the gradients that were set to everything they depend on.
  void backward() {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      for (int i = 0; i < 3; ++i) {
        if (node->input[i] >= 0) nodes_[node->input[i]].gradient += node->gradient * node->slope[i];
      }
    }
  }

 private:
  struct Node {
    double value, gradient;
    double slope[3];
    std::int32_t input[3];
  };

  Scalar push(double value, Scalar a, double da, Scalar b, double db, Scalar c, double dc) {
    nodes_.push_back({value, 0, {da, db, dc}, {a.at, b.at, c.at}});
    return {static_cast<std::int32_t>(nodes_.size()) - 1};
  }

  std::vector<Node> nodes_;
};

}  // namespace strobe::conformance
