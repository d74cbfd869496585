// Statistics of measured times. All are deterministic: the bootstrap draws from a counter-based generator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace strobe {

/// A confidence interval [low, high].
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Arithmetic mean of `values` [n]; NaN when empty.
double mean(const std::vector<double>& values);

/// Middle value, or the mean of the two middle values, of `values` [n]; NaN when empty.
double median(std::vector<double> values);

/// The `percent`-th percentile (0 to 100) of `values` [n] by linear interpolation between order statistics at position
/// (n - 1) percent / 100: type 7 of Hyndman and Fan, "Sample quantiles in statistical packages" (1996), the default of
/// NumPy and R. NaN when empty.
double percentile(std::vector<double> values, double percent);

/// Fewest values for which an order-statistic interval of the median can reach 95 %: 1 - 2 / 2^n >= 0.95.
inline constexpr std::size_t fewest_for_median_interval = 6;

/// 95 % confidence interval of the median of `values` [n] from order statistics: the narrowest symmetric pair
/// (x_k, x_{n+1-k}) whose binomial coverage is at least 95 %. Free of any assumption on the distribution. Nothing when
/// n < 6. Source: Hoefler and Belli, "Scientific benchmarking of parallel computing systems" (SC'15), section 3.1.3.
std::optional<ConfidenceInterval> median_interval(std::vector<double> values);

/// 95 % percentile-bootstrap confidence interval of median(changed) / median(base): both samples are redrawn with
/// replacement `resamples` times from stream `seed`. Nothing when either sample has fewer than 6 values or a median
/// that is not positive. Cost O(resamples (n + m)).
std::optional<ConfidenceInterval> ratio_of_medians_interval(const std::vector<double>& base,
                                                            const std::vector<double>& changed, std::uint64_t seed,
                                                            int resamples = 2000);

}  // namespace strobe
