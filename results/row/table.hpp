// Plain text tables for people, and the same for spreadsheets and papers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

enum class TableFormat : std::uint8_t { text, csv, markdown, latex };

/// Cells in aligned columns, two blanks apart, with a rule under the header; widths count UTF-8 characters.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool right = false;  // right-aligned, for numbers
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Titles with '|' between them. A title that ends in '>' is right-aligned.
  explicit TextTable(std::string_view titles);

  /// Adds a line; it must have one cell per column.
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }

  /// The table, each line ended by a newline and without trailing blanks.
  std::string text() const;

  /// The table as text, CSV (csv_for_people), a table of Markdown, or a LaTeX tabular with the rules of booktabs, whose
  /// special characters are escaped.
  std::string in(TableFormat format) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> lines_;
};

/// A cell of CSV (RFC 4180) for spreadsheets. An apostrophe is put in front of text that a spreadsheet would run as a
/// formula: text that begins with = + - @, a tab or a line end and is no number. It is also put in front of text that
/// begins with apostrophes before one of these.
std::string csv_for_people(const std::string& text);
/// The text of a cell, without quotes, that csv_for_people wrote.
std::string text_of_cell(const std::string& cell);

/// The text with LaTeX's special characters escaped.
std::string latex_text(const std::string& text);

/// The lines of `text`, each broken at blanks into lines of at most `width` characters (0 = any), the further ones
/// three blanks in. A longer word is broken as well.
std::string wrapped_lines(const std::string& text, std::size_t width);

/// The content of a table of rows.
struct TableOptions {
  std::vector<std::string> by;       // one line per combination of these keys; empty = as rows are
  std::vector<std::string> over;     // keys whose values share a line, with mean and spread
  std::vector<std::string> columns;  // keys and quantities by name; empty = the varied keys, and the usual quantities
  std::string sort;                  // a column; '-' in front: largest first
  TableFormat format = TableFormat::text;
  bool interval = false;  // after ±: half the 95 % interval of the mean (Student's t), not the standard deviation
  std::size_t width = 0;  // characters of a line of text; 0 = any
};

/// A table of rows: the settings that vary among them, and their measurements (row_columns.hpp). Without `by` and
/// `over`, rows that differ in their seed alone share a line. Notes of all rows are shown once below, others by number.
/// A table that is wider than asked moves approximations into the notes, loses the case's id, shortens words, then
/// loses phases, and says so; no line is wider. `runs`: for each row the run it is from; empty = one run. Throws
/// InvalidRequest("--columns", ...) and the like for a name that no column has.
std::string rows_table(const std::vector<Row>& rows, const TableOptions& requests = {},
                       const std::vector<std::string>& runs = {});

}  // namespace strobe
