#include "results/answer/time_ratio.hpp"

#include <fmt/format.h>

#include <cmath>

#include "results/answer/first_in_draws.hpp"

namespace strobe {
namespace {

std::string too_wide(const LogEstimate& ratio, double threshold) {
  constexpr int most = 200;
  const int needed = rounds_for_width(ratio, verdict_confidence, std::log1p(threshold), most);
  return fmt::format("the interval is too wide for a verdict; {} {} rounds would make it as narrow as {:.3g} %",
                     needed >= most ? "more than" : "about", needed, threshold * 100);
}

/// A verdict on two predictions holds if it holds for all times in their bands.
void apply_bands(const std::optional<ConfidenceInterval>& base, const std::optional<ConfidenceInterval>& changed,
                 double threshold, TimeRatio& found) {
  if (!base || !changed) return;
  found.band = {changed->low / base->high, changed->high / base->low};
  if (found.verdict == Verdict::unsure || verdict_of(found.ratio, *found.band, threshold) == found.verdict) return;
  found.verdict = Verdict::unsure;
  const bool overlap = found.band->low <= 1 && found.band->high >= 1;
  found.note = overlap ? "the 90 % bands of the predictions overlap"
                       : "the 90 % bands of the predictions allow differences below and above the threshold";
}

/// The same for the ratio in each common draw, in which errors that both share cancel.
void apply_draws(const Trials& base, const Trials& changed, double threshold, TimeRatio& found) {
  const std::vector<double> before = drawn_levels(base), after = drawn_levels(changed);
  std::vector<double> ratios;
  double faster = 0;
  for (std::size_t d = 0; d < before.size(); ++d) {
    ratios.push_back(after[d] / before[d]);
    if (ratios.back() < 1) ++faster;
  }
  found.draws = ratios.size();
  found.band = {percentile(ratios, 5), percentile(ratios, 95)};
  if (found.verdict == Verdict::unsure || verdict_of(found.ratio, *found.band, threshold) == found.verdict) return;
  found.verdict = Verdict::unsure;
  found.note = fmt::format("it is faster {}", draws_text(faster, found.draws));
}

}  // namespace

std::string verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "same";
    case Verdict::unsure:
      return "unsure";
    case Verdict::none:
      break;
  }
  return "";
}

Verdict verdict_of(double ratio, ConfidenceInterval interval, double threshold) {
  if (interval.high < 1 && ratio < 1 - threshold) return Verdict::faster;
  if (interval.low > 1 && ratio > 1 + threshold) return Verdict::slower;
  if (interval.low >= 1 - threshold && interval.high <= 1 + threshold) return Verdict::same;
  return Verdict::unsure;
}

Trial trial_of(const LoadedRun& run, const Row& row) {
  Trial trial;
  trial.exact = row.time_source == "virtual";
  if (row.rounds) trial.session = row.rounds->session;
  if (!trial.exact) trial.rounds = run.seconds_of(row);
  if (!trial.rounds.empty()) return trial;
  if (!trial.exact && row.rounds) {  // without samples there are still the medians of the rounds
    for (std::size_t r = 0; r < row.rounds->seconds.size(); ++r)
      if (std::isfinite(row.rounds->seconds[r])) trial.rounds[static_cast<int>(r)] = {row.rounds->seconds[r]};
  }
  if (trial.rounds.empty()) trial.rounds[0] = {row.epoch_seconds->median};
  if (const auto& band = row.epoch_seconds_band90; trial.exact && band) trial.band = {band->low, band->high};
  if (row.time_draws) trial.draws = row.time_draws->epoch_seconds, trial.draws_of = row.time_draws->of;
  return trial;
}

Trials predicted(double seconds, std::optional<ConfidenceInterval> band) {
  Trial trial;
  trial.exact = true;
  trial.rounds[0] = {seconds};
  trial.band = band;
  return {{0, trial}};
}

TimeRatio compare_trials(const Trials& base, const Trials& changed, const AnswerOptions& options, SeedSpread spread) {
  TimeRatio found;
  found.ratio = level_of(changed) / level_of(base);
  const auto estimate = ratio_of_trials(base, changed, options.resamples, spread);
  if (!estimate) {
    found.verdict = Verdict::unsure;
    found.note = spread == SeedSpread::always ? "one seed" : why_no_interval(base, changed);
    return found;
  }
  found.interval = estimate->interval(verdict_confidence);
  found.interval95 = estimate->interval(0.95);
  found.verdict = verdict_of(found.ratio, found.interval, options.threshold);
  if (found.verdict == Verdict::unsure && spread == SeedSpread::as_found)
    found.note = too_wide(*estimate, options.threshold);
  if (share_draws({&base, &changed}))
    apply_draws(base, changed, options.threshold, found);
  else
    apply_bands(band_of(base), band_of(changed), options.threshold, found);
  return found;
}

}  // namespace strobe
