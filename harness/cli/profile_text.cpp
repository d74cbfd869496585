// Tables and bars of distributions. Histograms come with their quantiles; those of lists are computed here.
#include "harness/cli/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/units.hpp"
#include "harness/cli/readable.hpp"
#include "workloads/storage/histogram.hpp"

namespace strobe {
namespace {

struct ProfileRow {
  const char* key;
  const char* label;
};

// Reports and shapes have different names for the degrees of vertices. So only one of these two rows exists.
constexpr ProfileRow histograms[] = {{"edges_per_step_distribution", "edges of a step"},
                                     {"active_vertices_distribution", "active vertices of a step"},
                                     {"sequence_length", "steps of a vertex"},
                                     {"in_degree", "events into a vertex"},
                                     {"out_degree", "events out of a vertex"},
                                     {"vertex_in_degree", "edges into a vertex"},
                                     {"vertex_out_degree", "edges out of a vertex"},
                                     {"step_in_degree", "sources of a vertex in a step"},
                                     {"step_out_degree", "targets of a vertex in a step"}};
constexpr ProfileRow lists[] = {{"edges_per_step", "edges of a step"},
                                {"active_vertices_per_step", "active vertices of a step"},
                                {"overlap_per_step", "overlap of a step"}};
constexpr const char* quantiles[] = {"min", "p25", "median", "p75", "p90", "p95", "p99", "max", "mean"};
constexpr double shares[] = {0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1};
constexpr std::size_t bars_shown = 64;

std::string cell(double value) {
  if (!std::isfinite(value)) return "-";
  return value == std::floor(value) && value < 1e15 ? format_count(static_cast<std::int64_t>(value))
                                                    : fmt::format("{:.4g}", value);
}

double number(const Json& value) { return value.is_number() ? value.get<double>() : NAN; }

/// The numbers of a list, without nulls.
std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list)
    if (value.is_number()) values.push_back(value.get<double>());
  return values;
}

std::string table_row(const std::string& label, const std::vector<std::string>& cells) {
  std::string text = fmt::format("{:<30}", label);
  for (const std::string& value : cells) text += fmt::format(" {:>11}", value);
  return text + "\n";
}

std::string histogram_row(const ProfileRow& row, const Json& histogram) {
  std::vector<std::string> cells;
  for (const char* column : quantiles) cells.push_back(cell(number(histogram.at(column))));
  return table_row(row.label, cells);
}

std::string list_row(const ProfileRow& row, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<std::string> cells;
  for (const double share : shares) {
    const std::int64_t rank = nearest_rank(share, static_cast<std::int64_t>(values.size()));
    cells.push_back(cell(values[rank - 1]));
  }
  double sum = 0;
  for (const double value : values) sum += value;
  cells.push_back(cell(sum / static_cast<double>(values.size())));
  return table_row(row.label, cells);
}

std::string distribution_table(const Json& facts) {
  std::string rows;
  const auto has = [&](const char* key) { return facts.contains(key) && !facts.at(key).is_null(); };
  for (const ProfileRow& row : histograms)
    if (has(row.key) && facts.at(row.key).contains("max")) rows += histogram_row(row, facts.at(row.key));
  for (const ProfileRow& row : lists) {
    const bool reported =
        has((std::string(row.key).substr(0, std::string(row.key).find("_per_step")) + "_distribution").c_str()) ||
        has((std::string(row.key) + "_distribution").c_str());
    if (!reported && has(row.key) && !numbers(facts.at(row.key)).empty())
      rows += list_row(row, numbers(facts.at(row.key)));
  }
  if (facts.contains("presence")) {
    for (const auto& [kind, found] : facts.at("presence").items()) {
      const std::string label = "steps of a sequence, " + kind;
      if (found.at("sequences") > 0) rows += histogram_row({"", label.c_str()}, found.at("sequence_length"));
    }
  }
  if (rows.empty()) return "";
  return table_row("at most, for a share of", {"0%", "25%", "50%", "75%", "90%", "95%", "99%", "100%", "mean"}) + rows;
}

/// A bar chart with one character per step, or per group of neighbouring steps for their mean.
std::string bars(const char* label, const Json& list) {
  static const char* const heights[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
  const std::size_t shown = std::min(bars_shown, list.size());
  std::vector<double> values;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t first = i * list.size() / shown, last = (i + 1) * list.size() / shown;
    double sum = 0;
    for (std::size_t t = first; t < last; ++t) sum += list[t].is_number() ? list[t].get<double>() : 0;
    values.push_back(sum / static_cast<double>(last - first));
  }
  const double highest = *std::max_element(values.begin(), values.end());
  if (!(highest > 0)) return "";
  std::string text = fmt::format("{:<18} |", label);
  for (const double value : values) text += heights[static_cast<std::size_t>(std::ceil(value / highest * 8))];
  return text + fmt::format("| highest {}\n", cell(highest));
}

/// The facts that neither tables nor bars show.
Json single_values(const Json& facts) {
  Json rest = Json::object();
  const auto is_drawn = [](const std::string& key) {
    const auto same = [&](const ProfileRow& row) { return key == row.key; };
    return std::any_of(std::begin(histograms), std::end(histograms), same) ||
           std::any_of(std::begin(lists), std::end(lists), same) || key == "self_loops_per_step" || key == "edge_lives";
  };
  for (const auto& [key, value] : facts.items()) {
    if (is_drawn(key)) continue;
    rest[key] = value;
    if (key == "presence") {
      for (Json& found : rest[key]) found.erase("sequence_length"), found.erase("cells_per_step");
    }
    if (key != "smoothed" || value.is_null()) continue;
    for (Json& entry : rest[key]) entry.erase("in_degree"), entry.erase("out_degree");
  }
  return rest;
}

}  // namespace

std::string profile_text(const Json& facts) {
  std::string text = readable(single_values(facts));
  const std::string table = distribution_table(facts);
  if (!table.empty()) text += "\n" + table;
  std::string drawn;
  for (const auto& [key, label] :
       {std::pair{"edges_per_step", "edges per step"}, {"overlap_per_step", "overlap per step"}})
    if (facts.contains(key) && facts.at(key).is_array()) drawn += bars(label, facts.at(key));
  return drawn.empty() ? text : text + "\n" + drawn;
}

}  // namespace strobe
