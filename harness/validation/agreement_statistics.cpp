// Summaries of errors, rank agreement and ordered pairs. Invariant: the order of the inputs does not matter.
// Cost: O(n), and O(n^2) over pairs.
#include "harness/validation/agreement_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strobe {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

int sign(double difference) { return (difference > 0) - (difference < 0); }

}  // namespace

ErrorSummary summarise_errors(const std::vector<double>& errors) {
  ErrorSummary summary{nothing, nothing, nothing, errors.size(), nothing, 0};
  if (errors.empty()) return summary;
  double absolute = 0, sum = 0, most = 0, logarithms = 0, positive = 0;
  for (const double error : errors) {
    absolute += std::abs(error);
    sum += error;
    most = std::max(most, std::abs(error));
    if (!(error > -1)) continue;
    positive += 1;
    logarithms += std::abs(std::log1p(error));
    summary.within_twice += error >= -0.5 && error <= 1;
  }
  const double n = errors.size();
  if (positive > 0) summary.factor = std::exp(logarithms / positive);
  summary.mean_absolute = absolute / n;
  summary.max_absolute = most;
  summary.bias = sum / n;
  return summary;
}

double relative_error(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? 0 : nothing;
  return (predicted - measured) / measured;
}

std::optional<double> kendall_tau_b(const std::vector<double>& a, const std::vector<double>& b) {
  double score = 0, untied_a = 0, untied_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int in_a = sign(a[i] - a[j]), in_b = sign(b[i] - b[j]);
      score += in_a * in_b;
      untied_a += in_a != 0;
      untied_b += in_b != 0;
    }
  }
  if (untied_a == 0 || untied_b == 0) return std::nullopt;
  return score / std::sqrt(untied_a * untied_b);
}

Share ordered_pairs(const std::vector<double>& measured, const std::vector<double>& predicted) {
  Share share;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = i + 1; j < measured.size(); ++j) {
      const int truth = sign(measured[i] - measured[j]);
      if (truth == 0) continue;
      ++share.of;
      share.right += sign(predicted[i] - predicted[j]) == truth;
    }
  }
  return share;
}

}  // namespace strobe
