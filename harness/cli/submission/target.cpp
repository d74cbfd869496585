#include "harness/cli/submission/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// Seconds of the first repetition: of each epoch its slowest rank, as the run added them up.
double summed_epochs(const std::vector<EpochSample>& samples) {
  std::map<int, double> slowest;
  for (const EpochSample& sample : samples)
    if (sample.repetition == 0) slowest[sample.epoch] = std::max(slowest[sample.epoch], sample.epoch_seconds);
  double sum = 0;
  for (const auto& [epoch, seconds] : slowest) sum += seconds;
  return sum;
}

/// The rule of a row, with a share as the value that the run resolved it to.
UntilRule rule_of(const Row& row, const std::string& text) {
  UntilRule rule = parse_until(text);
  const auto value = row.facts.find("until_value");
  if (rule.share)
    rule.value = value == row.facts.end() ? std::numeric_limits<double>::quiet_NaN() : value->second.get<double>();
  return rule;
}

/// Whether the rule held after one of the row's epochs.
bool values_reach(const Row& row, const UntilRule& rule) {
  std::vector<double> values;
  if (rule.reads_loss() && row.loss) values = *row.loss;
  const auto series = row.metrics.find(rule.series());
  if (!rule.reads_loss() && series != row.metrics.end() && series->second) values = *series->second;
  UntilWatch watch(rule);
  return std::any_of(values.begin(), values.end(), [&](double value) { return watch.holds_after(value); });
}

}  // namespace

std::string fault_of_target(const LoadedRun& run, const Row& row) {
  if (!row.until) return "has no target; add --until METRIC=VALUE to the run";
  if (!row.until->reached) return "did not reach its target; raise --epochs";
  if (!std::isfinite(row.until->seconds)) return "continued a checkpoint, so its time to the target is not known";
  const std::string text = row.settings.value("until", std::string());
  if (!values_reach(row, rule_of(row, text))) return fmt::format("has no value that reaches {}", text);
  const auto samples = run.samples.find(row.case_id);
  const double sum = samples == run.samples.end() ? 0 : summed_epochs(samples->second);
  if (std::abs(sum - row.until->seconds) > 1e-9 * sum || !(sum > 0))
    return fmt::format("took {:.6g} s to its target, but its samples add up to {:.6g} s", row.until->seconds, sum);
  return "";
}

}  // namespace strobe
