// Statistics of predictions against measurements.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace strobe {

/// Summary of relative errors (1 = 100 %). A figure is NaN when there are no errors to compute it from.
struct ErrorSummary {
  double mean_absolute = 0;  // mean of |e|
  double max_absolute = 0;
  double bias = 0;  // mean of e: above 0 means predicted too high
  std::size_t count = 0;
  /// exp of the mean of |ln(1 + e)|: the factor by which a prediction is typically off in either direction. In |e|, by
  /// contrast, a prediction that is too low counts at most 1. Only predictions above 0 enter.
  double factor = 0;
  std::size_t within_twice = 0;  // between half and twice what was measured
};

/// Summary of `errors` [n]; all NaN when empty.
ErrorSummary summarise_errors(const std::vector<double>& errors);

/// (predicted - measured) / measured; NaN when the measured value is 0 and the predicted one is not, 0 when both are.
double relative_error(double predicted, double measured);

/// Kendall's tau-b of two lists [n] of equal length: (C - D) / sqrt((n0 - n1) (n0 - n2)) with C concordant and D
/// discordant pairs, n0 all pairs, n1 and n2 those tied in the first and second list. Nothing when one list is constant
/// or n < 2. Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945). Cost O(n^2).
std::optional<double> kendall_tau_b(const std::vector<double>& a, const std::vector<double>& b);

/// `right` of `of`.
struct Share {
  std::size_t right = 0;
  std::size_t of = 0;
  double fraction() const { return of == 0 ? 0 : static_cast<double>(right) / static_cast<double>(of); }
};

/// Counts the pairs that `predicted` [n] orders as `measured` [n] does, among the pairs that differ in `measured`. A
/// predicted tie is wrong.
Share ordered_pairs(const std::vector<double>& measured, const std::vector<double>& predicted);

}  // namespace strobe
