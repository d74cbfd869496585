// A table of rows for spreadsheets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/row/shown_column.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

bool spreads(const ShownColumn& column) {
  return std::any_of(column.values.begin(), column.values.end(), [](const Spread& value) { return value.n > 1; });
}

}  // namespace

std::string csv_table(const std::vector<ShownColumn>& columns, const std::vector<std::size_t>& order, bool interval) {
  std::vector<TextTable::Column> titles;
  for (const ShownColumn& column : columns) {
    titles.push_back({column.key});
    if (spreads(column)) titles.push_back({column.key + (interval ? "_half_ci95" : "_sd")});
  }
  TextTable table(titles);
  for (const std::size_t line : order) {
    std::vector<std::string> cells;
    for (const ShownColumn& column : columns) {
      const bool number = column.number && line < column.values.size();
      const Spread value = number ? column.values[line] : Spread{};
      cells.push_back(!number                     ? (column.cells[line] == "-" ? "" : column.cells[line])
                      : std::isfinite(value.mean) ? fmt::format("{:.10g}", value.mean)
                                                  : "");
      if (spreads(column)) cells.push_back(value.n > 1 ? fmt::format("{:.10g}", value.deviation) : "");
    }
    table.add(std::move(cells));
  }
  return table.in(TableFormat::csv);
}

}  // namespace strobe
