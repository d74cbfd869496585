// The other losses; operations.hpp has the plain softmax cross-entropy. Each adds to one f64 number and leaves the
// gradient of its input, because only the report reads the loss. Shapes in brackets; S samples.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// Softmax cross-entropy with a weight per row: loss[1, 1] (f64) += sum_i w_i * -log softmax(logits_i)[label_i] *
/// scale; gradient[S, C] = w_i (softmax - onehot) * scale when defined. labels i32 [S, 1], weights [S, 1] of the
/// logits' type.
struct WeightedCrossEntropy {
  static constexpr std::string_view name = "weighted_cross_entropy";
  Tensor logits, labels, weights, gradient, loss;
  double scale = 1;
  Work work() const {
    using namespace operations_detail;
    return {6.0 * count(logits.elements()) + count(weights.elements()),
            bytes_of(logits) + bytes_of(labels) + bytes_of(weights),
            (gradient.defined() ? bytes_of(gradient) : 0.0) + bytes_of(loss)};
  }
};

/// Squared error: loss[1, 1] (f64) += sum_i (outputs_i - targets_i)^2 * scale; gradient[S, 1] = 2 (outputs - targets) *
/// scale when defined. outputs, targets [S, 1] of one floating type. With scale = 1 / S it is the mean squared error.
struct MeanSquaredError {
  static constexpr std::string_view name = "mean_squared_error";
  Tensor outputs, targets, gradient, loss;
  double scale = 1;
  Work work() const {
    using namespace operations_detail;
    return {5.0 * count(outputs.elements()), bytes_of(outputs) + bytes_of(targets),
            (gradient.defined() ? bytes_of(gradient) : 0.0) + bytes_of(loss)};
  }
};

}  // namespace strobe
