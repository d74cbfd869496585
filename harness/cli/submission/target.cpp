#include "harness/cli/submission/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/request/until.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

/// The text of `until`; "" where the settings have none.
std::string text_of_until(const Row& row) {
  const Json text = row.settings.is_object() ? row.settings.value("until", Json()) : Json();
  return text.is_string() ? text.get<std::string>() : "";
}

std::optional<double> number_fact(const Row& row, const std::string& key) {
  const auto found = row.facts.find(key);
  if (found == row.facts.end() || !found->second.is_number()) return std::nullopt;
  return found->second.get<double>();
}

/// The rule of a row. A share lies between the levels that the row states.
UntilRule rule_of(const Row& row) {
  Case request;
  request.until = text_of_until(row);
  const std::string series = parse_until(request.until).series();
  ReferenceLevels levels;
  if (const auto rule = number_fact(row, "until_best_rule")) levels.best_rule[series] = *rule;
  if (const auto best = number_fact(row, "until_best_known")) levels.best_possible[series] = *best;
  return resolve_until(request, levels).value();
}

/// Whether the rule holds after the row's last epoch.
bool values_reach(const Row& row, const UntilRule& rule) {
  std::map<std::string, std::vector<double>> metrics;
  for (const auto& [name, values] : row.metrics)
    if (values) metrics[name] = *values;
  return until_holds(rule, row.loss.value_or(std::vector<double>()), metrics);
}

}  // namespace

std::string fault_of_until(const Row& row) {
  if (!row.until || row.status != "ok") return "";
  const std::string text = text_of_until(row);
  if (text.empty()) return "until_reached has a value, but its settings have no until";
  try {
    const UntilRule rule = rule_of(row);
    const std::optional<double> stated = number_fact(row, "until_value");
    if (stated && (rule.converged || *stated != rule.value))
      return fmt::format("until_value is {} in the row, but {} by until={}", *stated, rule.value, text);
    if (row.until->reached && !values_reach(row, rule))
      return fmt::format("until_reached is true in the row, but it has no value that reaches {}", text);
  } catch (const InvalidRequest& error) {
    return fmt::format("its until has a fault: {}", error.what());
  }
  return "";
}

std::string fault_of_target(const Row& row) {
  if (!row.until) return "has no target; add --until METRIC=VALUE to the run";
  const std::string text = text_of_until(row);
  if (!parse_until(text).is_target())
    return fmt::format("has until={}, which is no quality on validation samples; give a value of a metric", text);
  if (!row.until->reached) return "did not reach its target; raise --epochs";
  if (!std::isfinite(row.until->seconds)) return "continued a checkpoint, so its time to the target is not known";
  if (!row.epoch_seconds || std::count(row.notes.begin(), row.notes.end(), no_samples_note) > 0)
    return "has no samples of its times any more; run it again";
  return "";
}

}  // namespace strobe
