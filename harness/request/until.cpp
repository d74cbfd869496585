#include "harness/request/until.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr const char* until_key = "/until";
constexpr const char* until_forms =
    "converged, converged:metric=loss,patience=10, a metric and its value, such as auc=0.8, or a share of the way from "
    "the best rule to the best known, such as mrr=50%";

[[noreturn]] void refuse_condition(const std::string& text, const std::string& why) {
  throw InvalidRequest(until_key, fmt::format("'{}' {}; expected {}", text, why, until_forms));
}

/// Splits "key=value" in two.
std::pair<std::string, std::string> split_condition(const std::string& part, const std::string& text) {
  const std::size_t equals = part.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
    refuse_condition(text, fmt::format("has '{}' where key=value should be", part));
  return {part.substr(0, equals), part.substr(equals + 1)};
}

template <class Number>
Number number_in(const std::string& digits, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(static_cast<double>(value)))
    refuse_condition(text, fmt::format("has '{}' where a number should be", digits));
  return value;
}

/// "validation_auc" also means "auc" here.
std::string without_prefix(const std::string& metric) {
  const std::string prefix = validation_prefix;
  return metric.rfind(prefix, 0) == 0 ? metric.substr(prefix.size()) : metric;
}

void read_option(UntilRule& rule, const std::string& part, const std::string& text) {
  const auto [key, value] = split_condition(part, text);
  if (key == "metric") {
    rule.metric = without_prefix(value);
  } else if (key == "patience") {
    rule.patience = number_in<std::int64_t>(value, text);
    if (rule.patience < 1) refuse_condition(text, "has a patience below 1 epoch");
  } else {
    throw InvalidRequest(until_key, unknown_name_message("option of converged", key, {"metric", "patience"}));
  }
}

double share_in(const std::string& percents, const std::string& text) {
  const double share = number_in<double>(percents.substr(0, percents.size() - 1), text) / 100;
  if (!(share > 0 && share <= 1)) refuse_condition(text, "has a share that is not above 0% and at most 100%");
  return share;
}

/// The best known value of a share: "best=0.9".
void read_best(UntilRule& rule, const std::string& part, const std::string& text) {
  const auto [key, value] = split_condition(part, text);
  if (key != "best") throw InvalidRequest(until_key, unknown_name_message("option of a share", key, {"best"}));
  if (!rule.share) refuse_condition(text, "names the best known value, which only a share such as mrr=50% needs");
  rule.best = number_in<double>(value, text);
}

bool is_better(const std::string& metric, double a, double b) { return smaller_is_better(metric) ? a < b : a > b; }

/// Sets the value of a share. Needs the levels.
void settle_share(UntilRule& rule, const std::string& text) {
  if (!rule.best_rule)
    throw InvalidRequest(until_key, fmt::format("'{}' is a share of the way from the best rule, but the task has no "
                                                "rule for {} on these validation samples; give a value, such as {}=0.8",
                                                text, rule.metric, rule.metric));
  if (!rule.best)
    throw InvalidRequest(
        until_key,
        fmt::format("'{}' is a share of the way to the best known {}, but this workload does not state one; give a "
                    "value beyond the best rule, {} ({:.4g}), or the best known one, from a published figure or a long "
                    "run: {},best=X",
                    text, rule.metric, rule.name_of_rule, *rule.best_rule, text));
  if (!is_better(rule.metric, *rule.best, *rule.best_rule))
    throw InvalidRequest(until_key,
                         fmt::format("the best known {} of '{}', {:.4g}, is no better than the best rule, {} "
                                     "({:.4g}); give a better one with best=X, or another metric",
                                     rule.metric, text, *rule.best, rule.name_of_rule, *rule.best_rule));
  rule.value = *rule.best_rule + *rule.share * (*rule.best - *rule.best_rule);
}

}  // namespace

bool UntilRule::reached_by_rule() const { return best_rule && !is_better(metric, value, *best_rule); }

std::string UntilRule::series() const { return reads_loss() ? metric : validation_prefix + metric; }

UntilRule parse_until(const std::string& text) {
  UntilRule rule;
  const std::string name = text.substr(0, text.find(':'));
  if (name == "converged") {
    rule.converged = true;
    if (name.size() == text.size()) return rule;
    std::string rest = text.substr(name.size() + 1);
    do {
      const std::size_t comma = rest.find(',');
      read_option(rule, rest.substr(0, comma), text);
      rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    } while (!rest.empty());
    return rule;
  }
  if (text.find('=') == std::string::npos) refuse_condition(text, "is no condition");
  const std::size_t comma = text.find(',');
  const auto [metric, value] = split_condition(text.substr(0, comma), text);
  rule.metric = without_prefix(metric);
  if (rule.metric == "best" || rule.metric == "patience" || rule.metric == "metric")
    throw InvalidRequest(until_key, fmt::format("'{}' is an option of the rule before it, not a rule; in --vary, whose "
                                                "commas part values, put the whole rule in double quotes: "
                                                "--vary 'until=\"mrr=50%,best=0.9\"'",
                                                text));
  if (value.ends_with('%'))
    rule.share = share_in(value, text);
  else
    rule.value = number_in<double>(value, text);
  if (comma != std::string::npos) read_best(rule, text.substr(comma + 1), text);
  if (rule.share && rule.reads_loss()) refuse_condition(text, "is a share of a loss, which no rule has");
  return rule;
}

void check_until(const Case& c, std::vector<std::string> names, bool has_validation) {
  if (c.until.empty()) return;
  const UntilRule rule = parse_until(c.until);
  if (c.numerics == "none") {
    throw InvalidRequest("/numerics",
                         "none computes no values, but until needs some; set numerics=cpu or leave until out");
  }
  if (rule.reads_loss()) return;
  names.push_back("loss");
  if (std::find(names.begin(), names.end(), rule.metric) == names.end())
    throw InvalidRequest(until_key, unknown_name_message("metric", rule.metric, names));
  if (has_validation) return;
  throw InvalidRequest(until_key,
                       fmt::format("{} is computed on validation samples, but the task draws none; set "
                                   "task.split=70/15/15 (or other parts), or use the training loss: metric=loss",
                                   rule.metric));
}

bool UntilWatch::holds_after(double value) {
  if (!rule_.converged) return smaller_ ? value <= rule_.value : value >= rule_.value;
  if (std::isnan(value) && !rule_.reads_loss()) return false;  // these weights were not evaluated
  const bool better = !std::isnan(value) && (!any_ || (smaller_ ? value < best_ : value > best_));
  if (better) {
    best_ = value;
    any_ = true;
  }
  without_ = better ? 0 : without_ + 1;
  return without_ >= rule_.patience;
}

std::optional<UntilRule> resolve_until(const Case& c, const ReferenceLevels& levels) {
  if (c.until.empty()) return std::nullopt;
  UntilRule rule = parse_until(c.until);
  if (!rule.is_target()) return rule;
  if (const auto best = levels.best_rule.find(rule.series()); best != levels.best_rule.end()) {
    rule.best_rule = best->second;
    const auto name = levels.rule.find(rule.series());
    rule.name_of_rule = name == levels.rule.end() ? "rule" : name->second;
  }
  if (const auto best = levels.best_possible.find(rule.series()); !rule.best && best != levels.best_possible.end())
    rule.best = best->second;
  if (rule.share) settle_share(rule, c.until);
  return rule;
}

std::string note_on_target(const UntilRule& rule, const std::string& text) {
  if (rule.share)
    return fmt::format("until={} is {} {:.6g}: from the best rule, {} ({:.6g}), to the best known ({:.6g})", text,
                       rule.series(), rule.value, rule.name_of_rule, *rule.best_rule, *rule.best);
  if (!rule.reached_by_rule()) return "";
  return fmt::format("until={} asks for no learning: the rule {} has {} {:.6g}", text, rule.name_of_rule, rule.series(),
                     *rule.best_rule);
}

void refuse_target_of_rules(const UntilRule& rule, const std::string& text) {
  if (!rule.reached_by_rule()) return;
  throw InvalidRequest(until_key, fmt::format("'{}' asks for no learning, which this suite wants: the rule {} has {} "
                                              "{:.4g} on the validation samples; give a target beyond it",
                                              text, rule.name_of_rule, rule.metric, *rule.best_rule));
}

bool until_holds(const std::optional<UntilRule>& rule, const std::vector<double>& loss,
                 const std::map<std::string, std::vector<double>>& metrics) {
  if (!rule) return false;
  const auto series = metrics.find(rule->series());
  if (!rule->reads_loss() && series == metrics.end()) return false;
  UntilWatch watch(*rule);
  bool holds = false;
  for (const double value : rule->reads_loss() ? loss : series->second) holds = watch.holds_after(value);
  return holds;
}

}  // namespace strobe
