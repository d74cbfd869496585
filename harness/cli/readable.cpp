#include "harness/cli/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/shown_text.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

constexpr std::size_t most_values = 16;  // values of a list, or rows of a matrix

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value == "" ? "-" : shown_line(value.get<std::string>());
  if (value.is_null()) return "-";
  if (value.is_number_integer()) return format_count(value.get<std::int64_t>());
  if (value.is_number_float()) {
    // Times of events are large whole seconds. They need all digits, not 1.08e+09.
    const double number = value.get<double>();
    return std::abs(number) >= 1e6 && std::abs(number) < 1e15 ? fmt::format("{:.15g}", number)
                                                              : fmt::format("{:.6g}", number);
  }
  return value.dump();
}

std::string list_text(const Json& list) {
  std::string text = list.empty() ? "-" : "";
  for (std::size_t i = 0; i < std::min(most_values, list.size()); ++i)
    text += (i == 0 ? "" : " ") + scalar_text(list[i]);
  if (list.size() > most_values) text += fmt::format(" ... ({} values)", list.size());
  return text;
}

bool is_sentence(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find(' ') != std::string::npos;
}

/// Sentences, such as notes: one a line, below each other.
std::string sentences_text(const Json& list, std::size_t column) {
  std::string text;
  for (const Json& one : list) text += (text.empty() ? "" : "\n" + std::string(column, ' ')) + scalar_text(one);
  return text;
}

bool is_table(const Json& value) { return value.is_array() && !value.empty() && value.front().is_structured(); }

std::string table_text(const Json& rows, const std::string& indent) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most_values, rows.size()); ++i) {
    if (rows[i].is_object()) {
      text += fmt::format("{}- {}\n{}", indent, i, readable(rows[i], indent + "  "));
    } else {
      text += fmt::format("{}{}\n", indent, rows[i].is_array() ? list_text(rows[i]) : scalar_text(rows[i]));
    }
  }
  if (rows.size() > most_values) text += fmt::format("{}... ({} rows)\n", indent, rows.size());
  return text;
}

}  // namespace

std::string readable(const Json& object, const std::string& indent) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      text += fmt::format("{}{}\n{}", indent, shown_line(key), readable(value, indent + "  "));
    } else if (is_table(value)) {
      text += fmt::format("{}{}\n{}", indent, shown_line(key), table_text(value, indent + "  "));
    } else {
      const std::size_t width = 26 - std::min<std::size_t>(indent.size(), 20);
      const bool sentences = value.is_array() && std::any_of(value.begin(), value.end(), is_sentence);
      text += fmt::format("{}{:<{}} {}\n", indent, shown_line(key), width,
                          sentences          ? sentences_text(value, indent.size() + width + 1)
                          : value.is_array() ? list_text(value)
                                             : scalar_text(value));
    }
  }
  return text;
}

}  // namespace strobe
