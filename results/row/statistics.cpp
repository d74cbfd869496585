// Order statistics and their binomial confidence interval.
// Returns numbers that depend on the values only, never on their order. Cost: O(n) per median (selection), O(n log n)
// per interval. Sources: Hyndman and Fan 1996 (percentiles), Hoefler and Belli SC'15 (interval of the median).
#include "results/row/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace strobe {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Median by selection; reorders `values`, which must not be empty.
double select_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

}  // namespace

double mean(const std::vector<double>& values) {
  if (values.empty()) return not_a_number;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) { return values.empty() ? not_a_number : select_median(values); }

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return not_a_number;
  std::sort(values.begin(), values.end());
  const double position = static_cast<double>(values.size() - 1) * std::clamp(percent, 0.0, 100.0) / 100.0;
  const std::size_t below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

std::optional<ConfidenceInterval> median_interval(std::vector<double> values) {
  const std::size_t n = values.size();
  if (n < fewest_for_median_interval) return std::nullopt;
  std::sort(values.begin(), values.end());
  // The number of values below the true median is Binomial(n, 1/2); drop `outside` values at each end while the
  // probability that the median lies beyond them stays within 2.5 % a side.
  const double log_all = static_cast<double>(n) * std::log(2.0);
  double tail = 0;
  std::size_t outside = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    tail += std::exp(std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
                     std::lgamma(static_cast<double>(n - k) + 1) - log_all);
    if (tail > 0.025) break;
    outside = k;
  }
  return ConfidenceInterval{values[outside], values[n - 1 - outside]};
}

}  // namespace strobe
