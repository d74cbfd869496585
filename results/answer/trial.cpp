// Seeds are a sample of all seeds: what is said of a configuration is said of a seed that nobody has tried yet. The
// standard error over seeds contains the noise inside them, so the larger of both is taken, and nothing is counted
// twice.
#include "results/answer/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace strobe {
namespace {

constexpr std::uint64_t bootstrap_seed = 1;
constexpr double exactly = 1e9;  // degrees of freedom of a number without noise

Rounds rounds_of(const Trial& trial) {
  Rounds rounds;
  for (const auto& [round, seconds] : trial.rounds) rounds.push_back(seconds);
  return rounds;
}

double log_level(const Trial& trial) {
  double logs = 0;
  for (const auto& [round, seconds] : trial.rounds) logs += std::log(median(seconds));
  return logs / static_cast<double>(trial.rounds.size());
}

std::optional<LogEstimate> level_estimate(const Trial& trial, int resamples) {
  if (trial.rounds.empty()) return std::nullopt;
  if (trial.exact) return LogEstimate{log_level(trial), 0, exactly};
  return level_of_rounds(rounds_of(trial), bootstrap_seed, resamples);
}

bool same_rounds(const Trial& a, const Trial& b) {
  return std::equal(a.rounds.begin(), a.rounds.end(), b.rounds.begin(), b.rounds.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

std::optional<LogEstimate> difference(const std::optional<LogEstimate>& before,
                                      const std::optional<LogEstimate>& after) {
  if (!before || !after) return std::nullopt;
  const double a = before->standard_error * before->standard_error, b = after->standard_error * after->standard_error;
  LogEstimate ratio{after->log_value - before->log_value, std::sqrt(a + b), exactly};
  if (a + b > 0) ratio.degrees = (a + b) * (a + b) / (a * a / before->degrees + b * b / after->degrees);  // Welch 1947
  return ratio;
}

std::optional<LogEstimate> ratio_of_seed(const Trial& base, const Trial& changed, int resamples) {
  if (base.exact || changed.exact)
    return difference(level_estimate(base, resamples), level_estimate(changed, resamples));
  const bool paired = !base.session.empty() && base.session == changed.session && same_rounds(base, changed);
  return ratio_of_rounds(rounds_of(base), rounds_of(changed), paired ? Pairing::by_round : Pairing::none,
                         bootstrap_seed, resamples);
}

/// The mean of the estimates of several seeds. Empty when one of them is.
std::optional<LogEstimate> over_seeds(const std::vector<std::optional<LogEstimate>>& seeds, SeedSpread kind) {
  if (seeds.empty() || !std::all_of(seeds.begin(), seeds.end(), [](const auto& one) { return one.has_value(); }))
    return std::nullopt;
  if (seeds.size() == 1) return kind == SeedSpread::always ? std::nullopt : seeds.front();
  const auto n = static_cast<double>(seeds.size());
  double sum = 0, within = 0, degrees = 0, spread = 0;
  for (const auto& one : seeds) {
    sum += one->log_value;
    within += one->standard_error * one->standard_error / n;
    degrees += one->degrees;
  }
  for (const auto& one : seeds) spread += (one->log_value - sum / n) * (one->log_value - sum / n) / (n - 1);
  if (within >= spread && kind == SeedSpread::as_found) return LogEstimate{sum / n, std::sqrt(within / n), degrees};
  return LogEstimate{sum / n, std::sqrt(spread / n), n - 1};
}

bool same_seeds(const Trials& a, const Trials& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

std::set<std::int64_t> common_seeds(const std::vector<Trials*>& all) {
  std::set<std::int64_t> common;
  for (const auto& [seed, trial] : *all.front()) {
    if (std::all_of(all.begin(), all.end(), [&](const Trials* one) { return one->count(seed) != 0; }))
      common.insert(seed);
  }
  return common;
}

/// Leaves the rounds that all trials have, if one session measured them.
void keep_common_rounds(const std::vector<Trial*>& trials) {
  const std::string& session = trials.front()->session;
  if (session.empty()) return;
  std::map<int, std::size_t> counts;
  for (const Trial* trial : trials) {
    if (trial->session != session) return;
    for (const auto& [round, seconds] : trial->rounds) ++counts[round];
  }
  for (Trial* trial : trials)
    std::erase_if(trial->rounds, [&](const auto& round) { return counts[round.first] != trials.size(); });
}

std::size_t fewest_rounds(const Trials& trials) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const auto& [seed, trial] : trials)
    if (!trial.exact) fewest = std::min(fewest, trial.rounds.size());
  return trials.empty() ? 0 : fewest;
}

std::string processes(std::size_t n) {
  return n == 0 ? "no process" : n == 1 ? "one process" : fmt::format("{} processes", n);
}

}  // namespace

void keep_common(std::vector<Trials*> all) {
  if (all.size() < 2) return;
  const std::set<std::int64_t> common = common_seeds(all);
  if (common.empty()) return;
  for (Trials* trials : all) std::erase_if(*trials, [&](const auto& one) { return common.count(one.first) == 0; });
  for (const std::int64_t seed : common) {
    std::vector<Trial*> of_seed;
    for (Trials* trials : all) of_seed.push_back(&trials->at(seed));
    keep_common_rounds(of_seed);
  }
}

double level_of(const Trials& trials) {
  double logs = 0;
  for (const auto& [seed, trial] : trials) {
    if (trial.rounds.empty()) return std::numeric_limits<double>::quiet_NaN();
    logs += log_level(trial);
  }
  return trials.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : std::exp(logs / static_cast<double>(trials.size()));
}

std::optional<ConfidenceInterval> band_of(const Trials& trials) {
  double low = 0, high = 0;
  for (const auto& [seed, trial] : trials) {
    if (!trial.band) return std::nullopt;
    low += std::log(trial.band->low), high += std::log(trial.band->high);
  }
  const auto n = static_cast<double>(trials.size());
  return trials.empty() ? std::nullopt : std::optional(ConfidenceInterval{std::exp(low / n), std::exp(high / n)});
}

std::vector<double> drawn_levels(const Trials& trials) {
  if (!share_draws({&trials})) return {};
  std::vector<double> levels(trials.begin()->second.draws.size(), 0);
  for (const auto& [seed, trial] : trials)
    for (std::size_t d = 0; d < levels.size(); ++d)
      levels[d] += std::log(trial.draws[d]) / static_cast<double>(trials.size());
  for (double& level : levels) level = std::exp(level);
  return levels;
}

bool share_draws(const std::vector<const Trials*>& all) {
  const Trial* first = nullptr;
  for (const Trials* trials : all) {
    for (const auto& [seed, trial] : *trials) {
      if (first == nullptr) first = &trial;
      if (trial.draws.empty() || trial.draws_of != first->draws_of || trial.draws.size() != first->draws.size())
        return false;
    }
  }
  return first != nullptr;
}

std::optional<LogEstimate> ratio_of_trials(const Trials& base, const Trials& changed, int resamples,
                                           SeedSpread spread) {
  std::vector<std::optional<LogEstimate>> before, after;
  if (same_seeds(base, changed)) {
    for (const auto& [seed, trial] : base) after.push_back(ratio_of_seed(trial, changed.at(seed), resamples));
    return over_seeds(after, spread);
  }
  for (const auto& [seed, trial] : base) before.push_back(level_estimate(trial, resamples));
  for (const auto& [seed, trial] : changed) after.push_back(level_estimate(trial, resamples));
  return difference(over_seeds(before, spread), over_seeds(after, spread));
}

std::string why_no_interval(const Trials& base, const Trials& changed) {
  const std::size_t a = fewest_rounds(base), b = fewest_rounds(changed);
  const std::string who = a == b ? processes(a) + " a side" : processes(a) + " against " + processes(b);
  return who + ": epochs of one process are not independent; measure with --rounds 5";
}

}  // namespace strobe
