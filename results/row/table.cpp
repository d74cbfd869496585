#include "results/row/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "core/errors.hpp"
#include "core/shown_text.hpp"

namespace strobe {
namespace {

using Cells = std::vector<std::string>;

/// Characters of UTF-8 text: bytes that do not continue another.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string line_of(const Cells& cells, const std::vector<TextTable::Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - width_of(cells[i]), ' ');
    if (i != 0) line += "  ";
    line += columns[i].right ? blanks + cells[i] : cells[i] + blanks;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

/// Whether a spreadsheet may take text that begins so for a formula: apostrophes, then one of these characters.
bool begins_formula(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of('\''), text.size());
  constexpr std::string_view starts("=+-@\t\r\n\0", 8);
  return first < text.size() && starts.find(text[first]) != std::string_view::npos;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return std::isspace(static_cast<unsigned char>(text.front())) == 0 && end == text.c_str() + text.size();
}

std::string markdown_cell(const std::string& cell) {
  std::string escaped;
  for (const char c : shown_line(cell)) {
    if (c == '|' || c == '\\' || c == '<' || c == '`' || c == '*' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

template <class Escape>
std::string joined(const Cells& cells, const Escape& escape, const std::string& between) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : between) + escape(cells[i]);
  return line;
}

}  // namespace

std::string latex_text(const std::string& text) {
  std::string escaped;
  for (const char c : shown_line(text)) {
    switch (c) {
      case '\\':
        escaped += "\\textbackslash{}";
        break;
      case '~':
        escaped += "\\textasciitilde{}";
        break;
      case '^':
        escaped += "\\textasciicircum{}";
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        escaped += '\\';
        [[fallthrough]];
      default:
        escaped += c;
    }
  }
  for (std::size_t at = 0; (at = escaped.find("±", at)) != std::string::npos;) escaped.replace(at, 2, "$\\pm$");
  return escaped;
}

std::string wrapped_lines(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string begun;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (!begun.empty() && width_of(begun) + 1 + width_of(word) > width) {
        result += begun + "\n";
        begun = "  ";
      }
      begun += (begun.empty() ? "" : " ") + word;
      while (width_of(begun) > width) {
        std::size_t cut = width;  // bytes; at most as many characters
        while (cut > 1 && (static_cast<unsigned char>(begun[cut]) & 0xC0) == 0x80) --cut;
        result += begun.substr(0, cut) + "\n";
        begun = "   " + begun.substr(cut);
      }
    }
    result += begun + "\n";
  }
  return result;
}

std::string csv_for_people(const std::string& text) {
  const bool guard = begins_formula(text) && text != "-" && !is_number(text);
  const std::string cell = guard ? "'" + text : text;
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string text_of_cell(const std::string& cell) {
  return cell.starts_with('\'') && begins_formula(cell) ? cell.substr(1) : cell;
}

TextTable::TextTable(std::string_view titles) {
  for (std::size_t end = 0; end != std::string_view::npos; titles.remove_prefix(std::min(titles.size(), end + 1))) {
    end = titles.find('|');
    const std::string_view title = titles.substr(0, end);
    const bool right = title.ends_with('>');
    columns_.push_back({std::string(title.substr(0, title.size() - (right ? 1 : 0))), right});
  }
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  Cells titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(width_of(column.title));
  }
  std::vector<Cells> lines;
  for (const auto& given : lines_) {
    if (given.size() != columns_.size()) {
      throw Error(fmt::format("a table line has {} cells for {} columns", given.size(), columns_.size()));
    }
    Cells& cells = lines.emplace_back();
    for (const std::string& cell : given) cells.push_back(shown_line(cell));
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width_of(cells[i]));
  }
  Cells rules;
  for (const std::size_t width : widths) rules.emplace_back(width, '-');
  std::string result = line_of(titles, columns_, widths) + line_of(rules, columns_, widths);
  for (const auto& cells : lines) result += line_of(cells, columns_, widths);
  return result;
}

std::string TextTable::in(TableFormat format) const {
  if (format == TableFormat::text) return text();
  Cells titles, rules;
  std::string alignment;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    rules.emplace_back(column.right ? "---:" : "---");
    alignment += column.right ? 'r' : 'l';
  }
  std::string result;
  if (format == TableFormat::csv) {
    result = joined(titles, csv_for_people, ",") + "\r\n";
    for (const Cells& cells : lines_) result += joined(cells, csv_for_people, ",") + "\r\n";
    return result;
  }
  if (format == TableFormat::markdown) {
    const auto plain = [](const std::string& cell) { return cell; };
    result = "| " + joined(titles, markdown_cell, " | ") + " |\n| " + joined(rules, plain, " | ") + " |\n";
    for (const Cells& cells : lines_) result += "| " + joined(cells, markdown_cell, " | ") + " |\n";
    return result;
  }
  result =
      "\\begin{tabular}{" + alignment + "}\n\\toprule\n" + joined(titles, latex_text, " & ") + " \\\\\n\\midrule\n";
  for (const Cells& cells : lines_) result += joined(cells, latex_text, " & ") + " \\\\\n";
  return result + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace strobe
