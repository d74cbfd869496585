// Finds the columns of source, target and time in a text table of events, from their names and cells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/reading/table/column_words.hpp"
#include "workloads/reading/table/table_layout.hpp"
#include "workloads/reading/table/table_rows.hpp"

namespace strobe {

/// The likely meaning of a column, and the reason.
struct ColumnGuess {
  std::string name;
  ColumnRole role = ColumnRole::none;
  std::string reason;
};

/// Returned by `guess_table`.
struct TableGuess {
  TableLayout layout;
  std::vector<ColumnGuess> columns;
  bool certain = false;
  std::string doubt;                 // why it is not certain
  std::vector<std::string> options;  // "columns=...[,ids=offset]": what reads the file, the likeliest first
  bool relations = false;            // of two options one takes a column for weights and one for relations
};

/// The guess for a file with this beginning (`whole`: all of it) and name; nothing when it is no table. It is certain
/// only from names with one meaning, or from cells with one explanation. In files *.edges the last column is the time.
std::optional<TableGuess> guess_table(std::string_view head, bool whole, std::string_view name);

/// The same for the file at `path`. Throws as reading does.
std::optional<TableGuess> guess_table(const std::string& path);

/// Whether a table without a header is plainly not source, target, time or source, target, weight, time: another column
/// holds the seconds since 1970; the third of four has the ids of the first one and the second has not, as heads,
/// relations and tails do; or the first of four numbers the rows.
bool has_other_order(std::string_view head, bool whole);

/// The layout of rows under `columns`, "source:NAME/target:3/time:...", whose columns are names or numbers from 1 on.
/// Throws InvalidInput for missing columns.
TableRows table_rows(const std::string& path, const TableLayout& layout, const std::string& columns);

/// The command that reads the file with this option, "columns=...", quoted for a shell.
std::string inspect_command(const std::string& path, const std::string& option);

/// The columns that were seen, the doubt, and the command for each reading that is possible: a message's text.
std::string describe_doubt(const std::string& path, const TableGuess& guess);

}  // namespace strobe
