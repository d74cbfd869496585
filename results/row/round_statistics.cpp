// The hierarchical bootstrap of rounds, and intervals by Student's t around it. The verdict of a comparison rests on
// these. A whole process may be fast or slow, so an epoch is no independent observation, and processes are redrawn
// first. With few rounds the percentiles of a bootstrap are too narrow (five rounds have only 3,125 redrawings). So
// only its standard error is used.
#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// Draws numbers of one stream one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t key) : stream_(seed, random_purpose::bootstrap, key) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(stream_.below(next_++, n)); }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

bool usable(const Rounds& rounds) {
  return rounds.size() >= 2 && std::all_of(rounds.begin(), rounds.end(), [](const std::vector<double>& epochs) {
           return !epochs.empty() && *std::min_element(epochs.begin(), epochs.end()) > 0;
         });
}

double log_level(const Rounds& rounds) {
  double sum = 0;
  for (const std::vector<double>& epochs : rounds) sum += std::log(median(epochs));
  return sum / static_cast<double>(rounds.size());
}

double redrawn_log_median(const std::vector<double>& epochs, Draws& draws) {
  std::vector<double> drawn(epochs.size());
  for (double& seconds : drawn) seconds = epochs[draws.below(epochs.size())];
  return std::log(median(std::move(drawn)));
}

/// Standard deviation of values whose logarithms are near each other, so that squares lose no digits.
double spread(const std::vector<double>& values) {
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

/// The standard error of `statistic_of(round)` averaged over all rounds, by redrawing them.
template <class Statistic>
double standard_error(std::size_t rounds, int resamples, Draws& draws, const Statistic& statistic_of) {
  std::vector<double> levels(resamples);
  const double n = rounds;
  for (double& level : levels)
    for (std::size_t i = 0; i < rounds; ++i) level += statistic_of(draws.below(rounds)) / n;
  return spread(levels) * std::sqrt(n / (n - 1));
}

LogEstimate level_from(const Rounds& rounds, Draws draws, int resamples) {
  const auto redrawn = [&](std::size_t round) { return redrawn_log_median(rounds[round], draws); };
  return {log_level(rounds), standard_error(rounds.size(), resamples, draws, redrawn),
          static_cast<double>(rounds.size() - 1)};
}

LogEstimate paired_ratio(const Rounds& base, const Rounds& changed, std::uint64_t seed, int resamples) {
  Draws draws(seed, 0), inner(seed, 1);
  const auto redrawn = [&](std::size_t round) {
    return redrawn_log_median(changed[round], inner) - redrawn_log_median(base[round], inner);
  };
  return {log_level(changed) - log_level(base), standard_error(base.size(), resamples, draws, redrawn),
          static_cast<double>(base.size() - 1)};
}

/// Probability that Student's t lies between 0 and `t`: with t = sqrt(degrees) tan(angle) its density is
/// cos(angle)^(degrees - 1), which Simpson's rule integrates to all digits that are asked for.
double probability_up_to(double t, double degrees) {
  const double end = std::atan(t / std::sqrt(degrees));
  constexpr int pieces = 400;
  const double width = end / pieces;
  double sum = 0;
  for (int i = 0; i <= pieces; ++i) {
    const double weight = i == 0 || i == pieces ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * std::pow(std::cos(width * i), degrees - 1);
  }
  constexpr double pi = 3.14159265358979323846;
  const double scale = std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) / std::sqrt(pi);
  return scale * sum * width / 3;
}

}  // namespace

double LogEstimate::value() const { return std::exp(log_value); }

ConfidenceInterval LogEstimate::interval(double confidence) const {
  const double reach = student_t_quantile((1 + confidence) / 2, degrees) * standard_error;
  return {std::exp(log_value - reach), std::exp(log_value + reach)};
}

std::optional<LogEstimate> level_of_rounds(const Rounds& rounds, std::uint64_t seed, int resamples) {
  if (!usable(rounds)) return std::nullopt;
  return level_from(rounds, Draws(seed, 0), resamples);
}

std::optional<LogEstimate> ratio_of_rounds(const Rounds& base, const Rounds& changed, Pairing pairing,
                                           std::uint64_t seed, int resamples) {
  if (!usable(base) || !usable(changed)) return std::nullopt;
  if (pairing == Pairing::by_round && base.size() == changed.size())
    return paired_ratio(base, changed, seed, resamples);
  const LogEstimate before = level_from(base, Draws(seed, 0), resamples),
                    after = level_from(changed, Draws(seed, 1), resamples);
  const double a = before.standard_error * before.standard_error, b = after.standard_error * after.standard_error;
  LogEstimate ratio{after.log_value - before.log_value, std::sqrt(a + b), 1};
  ratio.degrees = a + b > 0 ? (a + b) * (a + b) / (a * a / before.degrees + b * b / after.degrees)
                            : std::min(before.degrees, after.degrees);
  return ratio;
}

int rounds_for_width(const LogEstimate& estimate, double confidence, double log_width, int most) {
  const double spread_of_one = estimate.standard_error * std::sqrt(estimate.degrees + 1);
  for (int rounds = 2; rounds < most; ++rounds) {
    const double reach =
        student_t_quantile((1 + confidence) / 2, rounds - 1) * spread_of_one / std::sqrt(static_cast<double>(rounds));
    if (reach <= log_width) return rounds;
  }
  return most;
}

double student_t_quantile(double probability, double degrees) {
  const double wanted = probability - 0.5;
  double low = 0, high = 1;
  while (probability_up_to(high, degrees) < wanted && high < 1e6) high *= 2;
  for (int halving = 0; halving < 60 && high - low > 1e-12 * high; ++halving) {
    const double middle = 0.5 * (low + high);
    (probability_up_to(middle, degrees) < wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace strobe
