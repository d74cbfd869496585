#include "harness/request/until.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr const char* until_key = "/until";
constexpr const char* until_forms =
    "converged, converged:metric=loss,patience=10, or a metric and its value, such as auc=0.8";

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

}  // namespace

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
  const auto [metric, value] = split_condition(text, text);
  rule.metric = without_prefix(metric);
  rule.value = number_in<double>(value, text);
  return rule;
}

bool smaller_is_better(const std::string& metric) {
  const std::string last = metric.substr(metric.rfind('_') + 1);  // "last_value_rmse" ends in its error, rmse
  constexpr std::array errors = {"loss", "rmse", "mae", "mse", "mape", "error"};
  return std::find(errors.begin(), errors.end(), last) != errors.end();
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

bool until_holds(const Case& c, const std::vector<double>& loss,
                 const std::map<std::string, std::vector<double>>& metrics) {
  if (c.until.empty()) return false;
  const UntilRule rule = parse_until(c.until);
  const auto series = metrics.find(rule.series());
  if (!rule.reads_loss() && series == metrics.end()) return false;
  UntilWatch watch(rule);
  bool holds = false;
  for (const double value : rule.reads_loss() ? loss : series->second) holds = watch.holds_after(value);
  return holds;
}

}  // namespace strobe
