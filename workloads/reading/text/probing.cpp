// Cuts the beginning of a file into lines and numbers, leniently: a probe may be wrong, only reading is exact.
#include "workloads/reading/text/probing.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view without_mark(std::string_view head) {
  if (head.substr(0, byte_order_mark.size()) == byte_order_mark) head.remove_prefix(byte_order_mark.size());
  return head;
}

bool add_number(std::string_view field, std::vector<double>& numbers) {
  double value = 0;
  field = without_blanks(field);
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return false;
  numbers.push_back(value);
  return true;
}

}  // namespace

std::string_view first_line(std::string_view head) {
  head = without_mark(head);
  std::string_view line = head.substr(0, head.find('\n'));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> data_lines(std::string_view head, std::string_view comments, std::size_t most) {
  std::vector<std::string_view> lines;
  head = without_mark(head);
  while (!head.empty() && lines.size() < most) {
    const std::size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || comments.find(line.front()) != std::string_view::npos) continue;
    if (end == std::string_view::npos && !lines.empty()) break;
    lines.push_back(line);
  }
  return lines;
}

std::vector<double> line_numbers(std::string_view line) {
  std::vector<double> numbers;
  const bool commas = line.find(',') != std::string_view::npos;
  const std::string_view separators = commas ? std::string_view(",") : blanks;
  for (bool more = true; more;) {
    if (!commas) {
      line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
      if (line.empty()) break;
    }
    const std::string_view field = line.substr(0, line.find_first_of(separators));
    if (!add_number(field, numbers)) return {};
    more = field.size() < line.size();
    line.remove_prefix(std::min(line.size(), field.size() + 1));
  }
  return numbers;
}

std::uint64_t misplaced_column(std::string_view line, const std::vector<Token>& fields, std::size_t most) {
  return fields.size() > most ? fields[most].column : line.size() + 1;
}

bool has_suffix(std::string_view name, std::string_view suffix) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return name.ends_with(suffix);
}

}  // namespace strobe
