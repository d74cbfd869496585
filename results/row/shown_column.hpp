// Columns of a table of rows, and what CSV and LaTeX make of them.
#pragma once

#include <string>
#include <vector>

#include "results/row/row_columns.hpp"
#include "results/row/row_groups.hpp"

namespace strobe {

/// One shown column of the table: a key, a quantity, or a count. A column of numbers has `values`.
struct ShownColumn {
  std::string name, title, key;
  bool number = false;
  std::vector<std::string> cells;  // for people
  std::vector<Spread> values;      // of numbers
  ColumnUnit unit = ColumnUnit::none;
};

/// CSV for people: numbers with all their digits, and their spread in a separate column where lines have one.
std::string csv_table(const std::vector<ShownColumn>& columns, const std::vector<std::size_t>& order,
                      bool interval = false);

/// A tabular of the lines in this order. It needs booktabs and no other package. Each column of numbers has one unit,
/// which its title names, and one number of decimals, so its digits are aligned. Deviations follow a ± in a column of
/// their own.
std::string latex_table(const std::vector<ShownColumn>& columns, const std::vector<std::size_t>& order);

}  // namespace strobe
