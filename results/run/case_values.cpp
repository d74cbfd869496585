#include "results/run/case_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/errors.hpp"
#include "results/row/json_lines.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

constexpr const char* value_keys[] = {"loss", "metrics"};

/// The parts of a row, as the file has it, that its line repeats.
Json values_of(const Json& row) {
  Json values = Json::object();
  for (const char* key : value_keys) values[key] = row.value(key, Json());
  return values;
}

}  // namespace

std::string values_line(const Row& row) {
  if (!row.loss && row.metrics.empty()) return "";
  Json line{{"case_id", row.case_id}};
  line.update(values_of(row_to_json(row)));
  return json_line(line);
}

CaseValues read_case_values(const std::string& path) {
  CaseValues values;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return values;
  for_each_json_line(path, "line of losses and metrics", [&](std::string_view, Json& line, std::uint64_t) {
    Json of_case = values_of(line);
    values[line.at("case_id").get<std::string>()].push_back(std::move(of_case));
  });
  return values;
}

void check_case_values(const Json& row, const std::string& summary, const CaseValues& values, const std::string& file) {
  if (!row.is_object() || !row.contains("case_id") || !row["case_id"].is_string()) return;
  const auto lines = values.find(row["case_id"].get<std::string>());
  if (lines == values.end()) return;
  const Json here = values_of(row);
  if (std::find(lines->second.begin(), lines->second.end(), here) != lines->second.end()) return;
  const JsonDifference difference = first_difference(here, lines->second.back());
  throw InvalidInput(summary, 0, 0,
                     fmt::format("the row of case {} was changed: {} is {}, but {} in {}, which was written with it",
                                 lines->first, difference.pointer.substr(1), difference.a, difference.b, file));
}

}  // namespace strobe
