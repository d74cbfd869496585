#include "results/row/row_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/units.hpp"
#include "results/row/row_codec.hpp"

namespace strobe {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
/// In the order in which figures choose them.
constexpr const char* usual_metrics[] = {"mrr", "accuracy", "auc", "f1_micro", "f1_macro", "mse"};

std::string digits(double value) { return fmt::format("{:.6g}", value); }
std::string percent(double value) { return fmt::format("{:.1f}", value); }
std::string ratio(double value) { return fmt::format("{:.2f}", value); }
std::string short_digits(double value) { return fmt::format("{:.4g}", value); }

RowColumn number_column(std::string name, std::string title, std::string key, std::function<double(const Row&)> number,
                        std::function<std::string(double)> shown, ColumnUnit unit = ColumnUnit::none) {
  return {std::move(name), std::move(title), std::move(key), std::move(number), nullptr, std::move(shown), unit};
}

RowColumn word_column(const std::string& name, std::function<std::string(const Row&)> word) {
  return {name, name, name, nullptr, std::move(word), nullptr, ColumnUnit::none};
}

double last_value(const std::optional<std::vector<double>>& values) {
  return values && !values->empty() ? values->back() : none;
}

double metric_of(const Row& row, const std::string& name) {
  const auto found = row.metrics.find(name);
  return found == row.metrics.end() ? none : last_value(found->second);
}

/// The fullest rank's memory, on the device where that has any, else on the host.
double peak_of(const Row& row) {
  if (!row.peak_bytes) return none;
  const auto most = [](const std::vector<std::uint64_t>& ranks) {
    return ranks.empty() ? 0.0 : static_cast<double>(*std::max_element(ranks.begin(), ranks.end()));
  };
  const double device = most(row.peak_bytes->device);
  return device > 0 ? device : most(row.peak_bytes->host);
}

void add_times(std::vector<RowColumn>& columns) {
  const auto epoch = [&](const char* name, const char* key, double EpochSeconds::*part) {
    columns.push_back(number_column(
        name, name, key, [part](const Row& row) { return row.epoch_seconds ? (*row.epoch_seconds).*part : none; },
        format_seconds, ColumnUnit::seconds));
  };
  epoch("epoch", "epoch_seconds", &EpochSeconds::median);
  epoch("epoch_min", "epoch_seconds_min", &EpochSeconds::min);
  epoch("epoch_mean", "epoch_seconds_mean", &EpochSeconds::mean);
  epoch("epoch_max", "epoch_seconds_max", &EpochSeconds::max);
  columns.push_back(number_column(
      "epochs", "epochs", "measured_epochs",
      [](const Row& row) { return row.epoch_seconds ? static_cast<double>(row.epoch_seconds->n) : none; }, digits));
  RowColumn band = word_column("band", [](const Row& row) {
    if (!row.epoch_seconds_band90) return std::string();
    return fmt::format("{} .. {}", format_seconds(row.epoch_seconds_band90->low),
                       format_seconds(row.epoch_seconds_band90->high));
  });
  band.title = "90 % band";
  columns.push_back(std::move(band));
  for (int phase = 0; phase < phase_count; ++phase) {
    const std::string name(phase_names[phase]);
    columns.push_back(number_column(
        name, name + " %", name + "_percent",
        [phase](const Row& row) {
          if (!row.phase_seconds || !row.epoch_seconds || !(row.epoch_seconds->mean > 0)) return none;
          return 100 * (*row.phase_seconds)[phase] / row.epoch_seconds->mean;
        },
        percent));
  }
}

void add_sizes(std::vector<RowColumn>& columns) {
  columns.push_back(number_column(
      "sent", "sent", "sent_bytes",
      [](const Row& row) { return row.sent_bytes ? static_cast<double>((*row.sent_bytes)[traffic_count]) : none; },
      format_bytes, ColumnUnit::bytes));
  columns.push_back(number_column(
      "transferred", "transferred", "transfer_bytes",
      [](const Row& row) { return row.transfer_bytes ? static_cast<double>(*row.transfer_bytes) : none; }, format_bytes,
      ColumnUnit::bytes));
  columns.push_back(number_column("memory", "memory/rank", "peak_bytes", peak_of, format_bytes, ColumnUnit::bytes));
  columns.push_back(number_column(
      "busy", "max/mean busy", "max_over_mean_busy",
      [](const Row& row) { return row.imbalance ? row.imbalance->max_over_mean : none; }, ratio));
  columns.push_back(number_column(
      "dollars", "cost/epoch", "dollars_per_epoch", [](const Row& row) { return row.dollars_per_epoch; },
      short_digits));
  for (const std::string_view unit : throughput_keys) {
    columns.push_back(number_column(
        std::string(unit), std::string(unit), std::string(unit),
        [unit](const Row& row) {
          const auto found = row.throughput.find(std::string(unit));
          return found == row.throughput.end() ? none : found->second;
        },
        short_digits));
  }
}

/// Adds the work of an epoch, and the facts in the tables of kinds of training.
void add_facts(std::vector<RowColumn>& columns) {
  for (const auto& [name, member] : row_codec::work_counts) {
    columns.push_back(number_column(
        name, name, std::string(name) + "_per_epoch",
        [member](const Row& row) {
          return row.epoch_work && (*row.epoch_work).*member > 0 ? (*row.epoch_work).*member : none;
        },
        digits));
  }
  for (const auto& [kind, entry] : FactsRegistry::instance().entries()) {
    for (const FactField& fact : entry.value.fields) {
      const auto value = [key = fact.key](const Row& row) {
        const auto found = row.facts.find(key);
        return found == row.facts.end() ? Json() : found->second;
      };
      const auto shown = fact.unit == "bytes" ? format_bytes : fact.unit == "s" ? format_seconds : short_digits;
      const Json& type = fact.schema.at("type");
      if (type == "array" || type == "object" || type == "string")
        columns.push_back(word_column(fact.key, [value](const Row& row) {
          const Json list = value(row);
          return list.is_null() ? std::string() : list.is_string() ? list.get<std::string>() : list.dump();
        }));
      else
        columns.push_back(number_column(
            fact.key, fact.key, fact.key,
            [value](const Row& row) {
              const Json number = value(row);
              return number.is_number() ? number.get<double>() : none;
            },
            shown));
    }
  }
}

void add_training(const std::vector<Row>& rows, std::vector<RowColumn>& columns) {
  columns.push_back(number_column(
      "loss", "loss", "final_loss", [](const Row& row) { return last_value(row.loss); }, digits));
  columns.push_back(number_column(
      "until", "until", "until_seconds", [](const Row& row) { return row.until ? row.until->seconds : none; },
      format_seconds, ColumnUnit::seconds));
  std::map<std::string, std::set<std::int64_t>> samples;
  for (const Row& row : rows) {
    for (const auto& [name, values] : row.metrics) samples[name];
    for (const auto& [name, count] : row.metric_samples) samples[name].insert(count);
  }
  for (const auto& [name, counts] : samples) {
    const std::string title = counts.size() == 1 ? fmt::format("{} (n={})", name, *counts.begin()) : name;
    columns.push_back(number_column(
        name, title, name, [name = name](const Row& row) { return metric_of(row, name); }, short_digits));
    if (counts.empty()) continue;
    columns.push_back(number_column(
        name + ".n", name + " n", name + "_samples",
        [name = name](const Row& row) {
          const auto found = row.metric_samples.find(name);
          return found == row.metric_samples.end() ? none : static_cast<double>(found->second);
        },
        digits));
  }
}

bool has_number(const std::vector<Row>& rows, const RowColumn& column) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return std::isfinite(column.number(row)); });
}

}  // namespace

std::vector<RowColumn> row_columns(const std::vector<Row>& rows) {
  std::vector<RowColumn> columns;
  columns.push_back(word_column("case", [](const Row& row) { return row.case_id; }));
  columns.push_back(word_column("status", [](const Row& row) { return row.status; }));
  columns.push_back(word_column("reason", [](const Row& row) { return row.reason; }));
  add_times(columns);
  add_sizes(columns);
  add_training(rows, columns);
  add_facts(columns);
  columns.push_back(word_column("exact", [](const Row& row) {
    if (!row.epoch_seconds) return std::string();
    return row.exact ? std::string("yes") : fmt::format("{}", fmt::join(row.approximations, "+"));
  }));
  return columns;
}

std::vector<std::string> usual_columns(const std::vector<Row>& rows) {
  std::vector<std::string> names{"epoch"};
  const auto any = [&](const auto& has) { return std::any_of(rows.begin(), rows.end(), has); };
  if (any([](const Row& row) { return row.epoch_seconds_band90.has_value(); })) names.emplace_back("band");
  for (std::size_t phase = 0; phase < phase_count; ++phase) {
    if (any([&](const Row& row) { return row.phase_seconds && (*row.phase_seconds)[phase] > 0; }))
      names.emplace_back(phase_names[phase]);
  }
  names.insert(names.end(), {"sent", "busy"});
  std::size_t metrics = 0;
  for (const RowColumn& column : row_columns(rows)) {
    if (column.name == "loss" && has_number(rows, column)) names.emplace_back("loss");
  }
  for (const char* metric : usual_metrics) {
    std::set<std::int64_t> counts;
    for (const Row& row : rows)
      if (const auto found = row.metric_samples.find(metric); found != row.metric_samples.end())
        counts.insert(found->second);
    if (metrics == 2 || !any([&](const Row& row) { return std::isfinite(metric_of(row, metric)); })) continue;
    names.emplace_back(metric);
    if (counts.size() > 1) names.push_back(std::string(metric) + ".n");
    ++metrics;
  }
  names.emplace_back("exact");
  return names;
}

}  // namespace strobe
