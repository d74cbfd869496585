#include "workloads/reading/text/csv_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/errors.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

const std::vector<std::string>& csv_roles() {
  static const std::vector<std::string> roles{"source", "target", "time", "step", "weight"};
  return roles;
}

std::string name_of(const std::map<std::string, std::string>& names, const std::string& role) {
  const auto given = names.find(role);
  return given == names.end() ? role : given->second;
}

std::size_t position(const std::vector<std::string>& header, const std::string& name) {
  const auto at = std::find(header.begin(), header.end(), name);
  return at == header.end() ? CsvColumns::none : static_cast<std::size_t>(at - header.begin());
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back("'" + printable(name) + "'");
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

std::vector<std::string> csv_header_names(std::string_view line) {
  std::vector<std::string> names(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      names.emplace_back();
    else
      names.back() += c;
  }
  for (std::string& name : names) name = std::string(without_blanks(name));
  return names;
}

std::map<std::string, std::string> column_names(const std::string& columns, const std::string& where) {
  std::map<std::string, std::string> names;
  std::size_t begin = 0;
  while (begin <= columns.size()) {
    const std::size_t end = std::min(columns.find_first_of("/,", begin), columns.size());
    const std::string part = columns.substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos || colon + 1 == part.size())
      throw InvalidRequest(where, fmt::format("'{}' names no column; write source:from/target:to/time:when", part));
    const std::string role = part.substr(0, colon);
    if (std::find(csv_roles().begin(), csv_roles().end(), role) == csv_roles().end())
      throw InvalidRequest(where, unknown_name_message("column", role, csv_roles()));
    if (!names.emplace(role, part.substr(colon + 1)).second)
      throw InvalidRequest(where, fmt::format("the column {} is named twice", role));
    begin = end + 1;
  }
  if (names.count("time") + names.count("step") > 1)
    throw InvalidRequest(where, "events have a time or a step, not both; name one of them");
  return names;
}

CsvColumns find_csv_columns(const std::vector<std::string>& header, const std::map<std::string, std::string>& names) {
  CsvColumns columns;
  columns.count = header.size();
  columns.source = position(header, name_of(names, "source"));
  columns.target = position(header, name_of(names, "target"));
  columns.weight = position(header, name_of(names, "weight"));
  const std::size_t time = position(header, name_of(names, "time")), step = position(header, name_of(names, "step"));
  columns.stepped = names.count("step") > 0 || (time == CsvColumns::none && names.count("time") == 0);
  columns.time = columns.stepped ? step : time;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (i != columns.source && i != columns.target && i != columns.time && i != columns.weight)
      columns.ignored.push_back(header[i]);
  }
  return columns;
}

void require_csv_columns(const std::string& path, const std::vector<std::string>& header, const CsvColumns& columns,
                         const std::map<std::string, std::string>& names) {
  const auto require = [&](const std::string& role, std::size_t at) {
    const std::string name = name_of(names, role);
    if (at == CsvColumns::none) {
      throw InvalidInput(path, 1, 1,
                         fmt::format("there is no column '{}' for the {}; the columns are {}; "
                                     "columns=source:from/target:to/time:when names others",
                                     name, role, quoted_names(header)));
    }
    if (std::count(header.begin(), header.end(), name) > 1)
      throw InvalidInput(path, 1, 1, fmt::format("the header has the column '{}' twice", name));
  };
  require("source", columns.source);
  require("target", columns.target);
  const bool step = columns.stepped && (names.count("step") > 0 || columns.time != CsvColumns::none);
  require(step ? "step" : "time", columns.time);
  if (names.count("weight") > 0 || columns.weight != CsvColumns::none) require("weight", columns.weight);
  const std::size_t first[] = {columns.source, columns.target, columns.time, columns.weight};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < i; ++j) {
      if (first[i] == first[j] && first[i] != CsvColumns::none)
        throw InvalidInput(path, 1, 1, fmt::format("the column '{}' cannot be two things", header[first[i]]));
    }
  }
}

std::string ignored_columns_note(const CsvColumns& columns) {
  if (columns.ignored.empty()) return "";
  std::vector<std::string> named = columns.ignored;
  const std::size_t without = std::erase(named, std::string());
  std::vector<std::string> parts;
  if (!named.empty()) parts.push_back(quoted_names(named));
  if (without == 1) parts.emplace_back("one without a name (an index)");
  if (without > 1) parts.push_back(fmt::format("{} without names", without));
  return fmt::format("columns that are not read: {}", fmt::join(parts, ", and "));
}

}  // namespace strobe
