// Every separator is tried; of those that give all lines equally many fields, the one whose fields are most often
// numbers and dates is taken. A header is a line of words above columns of numbers or dates.
// Cost: a pass over the head for each separator.
#include "workloads/reading/table/table_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/reading/table/column_facts.hpp"
#include "workloads/reading/table/column_words.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

using Row = std::vector<std::string>;

constexpr std::array<const char*, 6> separators = {"\t", "::", ";", "|", ",", " "};
constexpr std::array<std::string_view, 3> comments = {"#", "%", "//"};
constexpr std::size_t most_rows = 4000;

struct Line {
  std::uint64_t number = 0;
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view head, bool whole) {
  std::vector<Line> lines;
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  for (std::uint64_t number = 1; !head.empty(); ++number) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && !whole) break;
    std::string_view text = head.substr(0, end);
    head.remove_prefix(std::min(head.size(), text.size() + 1));
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (!text.empty()) lines.push_back({number, text});
  }
  return lines;
}

/// The mark that a comment begins with; "" for other lines.
std::string_view comment_mark(std::string_view line) {
  const auto mark = std::find_if(comments.begin(), comments.end(), [&](auto word) { return line.starts_with(word); });
  return mark == comments.end() ? std::string_view() : *mark;
}

std::optional<Row> split(std::string_view line, const std::string& separator) {
  QuotedCsv csv(separator);
  const auto* fields = csv.try_split(line);
  if (fields == nullptr) return std::nullopt;
  Row row;
  for (const Token& field : *fields) row.emplace_back(field.text);
  return row;
}

std::int64_t count_values(const Row& row) {
  return std::count_if(row.begin(), row.end(), [](const std::string& cell) { return is_number_or_date(cell); });
}

/// The lines as rows of equally many fields, two at least; nothing when this is no separator of theirs.
std::optional<std::vector<Row>> rows_between(const std::vector<Line>& lines, const std::string& separator) {
  std::vector<Row> rows;
  for (const Line& line : lines) {
    std::optional<Row> row = split(line.text, separator);
    if (!row || row->size() < 2 || (!rows.empty() && row->size() != rows.front().size())) return std::nullopt;
    rows.push_back(std::move(*row));
    if (rows.size() == most_rows) break;
  }
  return rows;
}

/// Sets separator, columns and rows by the share of fields that are numbers or dates; ties keep the first separator.
bool choose_separator(const std::vector<Line>& lines, TableLayout& layout) {
  double best = -1;
  for (const char* separator : separators) {
    std::optional<std::vector<Row>> rows = rows_between(lines, separator);
    if (!rows || rows->empty()) continue;
    std::int64_t values = 0;
    for (const Row& row : *rows) values += count_values(row);
    const double share = static_cast<double>(values) / static_cast<double>(rows->size() * rows->front().size());
    if (share <= best) continue;
    best = share;
    layout.separator = separator;
    layout.columns = rows->front().size();
    layout.rows = std::move(*rows);
  }
  return best >= 0;
}

/// Whether `row` has words where the rows below it have numbers or dates, and nothing else.
bool is_header(const Row& row, const std::vector<Row>& rows, std::size_t first) {
  if (first >= rows.size() || count_values(row) > 0) return false;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const bool values = std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                    [&](const Row& below) { return is_number_or_date(below[c]); });
    if (values) return true;
  }
  return false;
}

/// A comment right above the rows that is a header, or that looks like a row, so that its meaning is open.
void look_at_comment(const Line& line, std::string_view mark, TableLayout& layout) {
  const std::string_view text = without_blanks(line.text.substr(mark.size()));
  for (const std::string& separator : {layout.separator, std::string(","), std::string("\t"), std::string(" ")}) {
    const std::optional<Row> row = split(text, separator);
    if (!row || row->size() != layout.columns) continue;
    // A sentence may have as many words as there are columns. Names of columns have known words, or their separator.
    const auto named = std::count_if(row->begin(), row->end(), [](const std::string& name) {
      return read_column_word(name).role != ColumnRole::none;
    });
    const bool cut_alike = separator == layout.separator && separator != " ";
    if ((named >= 2 || cut_alike) && is_header(*row, layout.rows, 0)) {
      layout.names = *row;
      layout.header_line = line.number;
      layout.header_in_comment = true;
      return;
    }
    bool alike = count_values(*row) > 0;
    for (std::size_t c = 0; c < layout.columns && alike; ++c)
      alike = is_number_or_date((*row)[c]) || !is_number_or_date(layout.rows.front()[c]);
    if (alike && separator == layout.separator)
      layout.doubt =
          fmt::format("line {} begins with '{}' as a comment does, and has the form of a row", line.number, mark);
    return;
  }
}

/// A comment between rows, which looks like any other row to a reader that does not know better.
void look_for_late_comments(const std::vector<Line>& lines, TableLayout& layout) {
  if (layout.comment.empty()) return;
  for (const Line& line : lines)
    if (line.text.starts_with(layout.comment))
      layout.doubt = fmt::format("line {} begins with '{}' but lies between rows; move comments before the first row",
                                 line.number, layout.comment);
}

}  // namespace

std::string TableLayout::name(std::size_t column) const {
  return names.empty() || names[column].empty() ? fmt::format("column {}", column + 1) : names[column];
}

std::optional<TableLayout> look_at_table(std::string_view head, bool whole) {
  TableLayout layout;
  std::vector<Line> lines = lines_of(head, whole);
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const Line& line) { return comment_mark(line.text).empty(); });
  const std::vector<Line> above(lines.begin(), first);
  lines.erase(lines.begin(), first);
  if (lines.empty() || head.find('\0') != std::string_view::npos) return std::nullopt;
  if (!above.empty()) layout.comment = comment_mark(above.back().text);
  layout.lines_before = lines.front().number - 1;
  if (!choose_separator(lines, layout)) return std::nullopt;
  if (is_header(layout.rows.front(), layout.rows, 1)) {
    layout.names = layout.rows.front();
    layout.header_line = lines.front().number;
    layout.lines_before = lines.front().number;
    layout.rows.erase(layout.rows.begin());
    lines.erase(lines.begin());
  } else if (!above.empty()) {
    look_at_comment(above.back(), layout.comment, layout);
  }
  look_for_late_comments(lines, layout);
  return layout;
}

std::string separator_name(const std::string& separator) {
  static const std::array<std::pair<const char*, const char*>, 5> names = {
      {{",", "commas"}, {"\t", "tabs"}, {";", "semicolons"}, {" ", "blanks"}, {"|", "bars"}}};
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& pair) { return separator == pair.first; });
  return found == names.end() ? "'" + separator + "'" : found->second;
}

}  // namespace strobe
