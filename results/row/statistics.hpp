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

/// Seconds of the epochs of one case, by round. Each round is a separate process, and its epochs share the speed that
/// the machine had for that process.
using Rounds = std::vector<std::vector<double>>;  // [rounds][epochs]

/// A level or a ratio whose logarithm has a standard error with `degrees` degrees of freedom.
struct LogEstimate {
  double log_value = 0;
  double standard_error = 0;
  double degrees = 1;

  double value() const;
  /// By Student's t: symmetric about the logarithm. `confidence` is 0.95 or 0.99, say.
  ConfidenceInterval interval(double confidence) const;
};

/// Whether round r of one side ran next to round r of the other, so that both saw the same machine.
enum class Pairing : std::uint8_t { none, by_round };

/// Geometric mean over rounds of the median epoch, and of the ratio changed / base of these. The standard error is that
/// of a hierarchical bootstrap: rounds are redrawn with replacement, then the epochs inside each (`resamples` times,
/// from stream `seed`). It is widened by sqrt(n / (n - 1)), since n redrawn rounds vary less than new ones do. Paired
/// rounds are redrawn together; both sides then have the same number. Empty with fewer than two rounds a side, or where
/// a time is not positive. Cost O(resamples x epochs). Sources: Davison and Hinkley, "Bootstrap Methods and their
/// Application" (1997), section 3.8 (two stages); Hesterberg, "What teachers should know about the bootstrap" (2015),
/// section 4 (t interval with a bootstrap standard error); Welch 1947 (degrees of freedom of unpaired rounds).
std::optional<LogEstimate> level_of_rounds(const Rounds& rounds, std::uint64_t seed, int resamples = 1000);
std::optional<LogEstimate> ratio_of_rounds(const Rounds& base, const Rounds& changed, Pairing pairing,
                                           std::uint64_t seed, int resamples = 1000);

/// The number of rounds at which the interval of such an estimate would reach at most `log_width` to either side, if
/// their spread did not change; at most `most`.
int rounds_for_width(const LogEstimate& estimate, double confidence, double log_width, int most = 1000);

/// The quantile of Student's t with `degrees` degrees of freedom at this probability, 0.5 to 1.
double student_t_quantile(double probability, double degrees);

}  // namespace strobe
