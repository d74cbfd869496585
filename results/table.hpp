// Plain text tables for people.
#pragma once

#include <string>
#include <vector>

#include "results/row.hpp"

namespace strobe {

/// Cells in aligned columns, two blanks apart, with a rule under the header; widths count UTF-8 characters.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool right = false;  // right-aligned, for numbers
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a line; it must have one cell per column.
  void add(std::vector<std::string> cells) { lines_.push_back(std::move(cells)); }

  /// The table, each line ended by a newline and without trailing blanks.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> lines_;
};

/// One line per row: case, median epoch time, the share of each phase in the epoch, bytes sent, imbalance, last loss,
/// whether it is exact, and notes (the reason when the case did not end ok; "predicted" for virtual times). Columns of
/// phases that are zero everywhere are left out. Absent values are "-".
std::string summary_table(const std::vector<Row>& rows);

}  // namespace strobe
