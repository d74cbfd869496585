#include "results/answer/metric_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/metric_names.hpp"
#include "results/row/row_groups.hpp"

namespace strobe {
namespace {

constexpr double rounding = 1e-4;  // share of a metric
constexpr const char* of_validation_samples = "validation_";

std::string without_validation(const std::string& metric) {
  const std::string prefix = of_validation_samples;
  return metric.starts_with(prefix) ? metric.substr(prefix.size()) : metric;
}

/// The last value of a metric in a row; NaN without one.
double last_value(const Row& row, const std::string& metric) {
  const auto series = row.metrics.find(metric);
  const bool known = series != row.metrics.end() && series->second && !series->second->empty();
  return known ? series->second->back() : std::numeric_limits<double>::quiet_NaN();
}

bool all_have(const std::vector<const Row*>& rows, const std::string& metric) {
  return std::all_of(rows.begin(), rows.end(), [&](const Row* row) { return std::isfinite(last_value(*row, metric)); });
}

/// The metric that the row's target or its tuning names; "" without one.
std::string named_metric(const Row& row, const std::string& until) {
  const std::size_t equals = until.find('=');
  if (equals != std::string::npos && until.find(':') == std::string::npos)
    return without_validation(until.substr(0, equals));
  const auto tuning = row.facts.find("tuning");
  return tuning == row.facts.end() ? "" : without_validation(tuning->second.value("metric", ""));
}

/// Whether metrics of these rows are of the same samples, and of two seeds at least.
bool share_samples(const std::vector<const Row*>& rows) {
  std::set<std::int64_t> seeds;
  for (const Row* row : rows) {
    seeds.insert(row->seed);
    if (row->task != rows.front()->task || row->workload != rows.front()->workload) return false;
  }
  return seeds.size() > 1;
}

void set_interval(const std::vector<double>& values, double& mean, double& half95) {
  const Spread spread = spread_of(values, true);
  mean = spread.mean;
  if (spread.n > 1) half95 = spread.deviation;
}

}  // namespace

std::string metric_to_compare(const std::vector<const Row*>& rows, const std::string& until) {
  if (rows.empty() || !share_samples(rows)) return "";
  if (const std::string named = named_metric(*rows.front(), until); all_have(rows, named)) return named;
  std::vector<std::string> names;
  for (const auto& [name, series] : rows.front()->metrics)
    if (!name.starts_with(of_validation_samples) && all_have(rows, name)) names.push_back(name);
  return usual_metric(names);
}

MetricLevel metric_level(const std::vector<const Row*>& rows, const std::string& metric) {
  MetricLevel level;
  std::vector<double> values;
  for (const Row* row : rows) {
    values.push_back(last_value(*row, metric));
    level.values[row->seed] = values.back();
  }
  set_interval(values, level.mean, level.half95);
  return level;
}

bool place_by_metric(const std::string& metric, const std::vector<MetricLevel*>& all) {
  const double sign = smaller_is_better(metric) ? 1 : -1;
  MetricLevel* best = nullptr;
  for (MetricLevel* one : all)
    if (std::isfinite(one->mean) && (best == nullptr || sign * one->mean < sign * best->mean)) best = one;
  if (best == nullptr) return false;
  best->best = true;
  for (MetricLevel* one : all) {
    std::vector<double> worse;
    for (const auto& [seed, value] : one->values)
      if (const auto other = best->values.find(seed); other != best->values.end())
        worse.push_back(sign * (value - other->second));
    set_interval(worse, one->worse, one->worse_half95);
    one->same = std::all_of(worse.begin(), worse.end(), [&](double difference) {
      return std::fabs(difference) <= rounding * std::fabs(best->mean);
    });
  }
  return std::any_of(all.begin(), all.end(), [](const MetricLevel* one) { return !one->same; });
}

std::string metric_text(double value, double half95) {
  if (!std::isfinite(value)) return "-";
  return std::isfinite(half95) ? fmt::format("{:.4g} ± {:.2g}", value, half95) : fmt::format("{:.4g}", value);
}

}  // namespace strobe
