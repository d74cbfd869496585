// Text tables that no other format knows. Columns are separated by commas, tabs, semicolons, bars, '::' or blanks. A
// table may have comments and a header, which may itself be in a comment. It is read when the columns of source, target
// and time are certain (table_guess.hpp) or when the option `columns` names them. Otherwise it is refused with that
// option's text. Times are seconds, dates, or milli-, micro- or nanoseconds since 1970 where they are too large for
// seconds. Returns one event per row.
// Cost: a look at the first 64 KiB, and one pass over the text.
#include <fmt/format.h>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/reading/table/table_rows.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

/// `find_format` looks at a file as a table when no other format knows it.
int probe_table(std::string_view, std::string_view) { return 0; }

std::string unit_name(TimeUnit unit) {
  return unit == TimeUnit::milliseconds   ? "milliseconds"
         : unit == TimeUnit::microseconds ? "microseconds"
                                          : "nanoseconds";
}

EventGraph read_rows(const std::string& path, const TableLayout& layout, const std::string& columns, bool two_sided) {
  TableRows rows = table_rows(path, layout, columns);
  rows.two_sided = two_sided;
  TextReader reader(path);
  while (reader.line_number() < layout.lines_before && reader.next()) {
  }
  EventGraph graph = read_table_rows(reader, rows, "table");
  if (rows.unit != TimeUnit::seconds)
    graph.provenance.notes.push_back(
        fmt::format("times were taken as {} since 1970, because they are too large for seconds", unit_name(rows.unit)));
  return graph;
}

EventGraph read_table(const std::string& path) {
  const auto guess = guess_table(path);
  if (!guess)
    throw InvalidInput(
        path, 0, 0,
        "is not a table: every line needs the same number of columns, at least three, and there must be a row");
  if (!guess->certain) throw InvalidInput(path, 0, 0, describe_doubt(path, *guess));
  const std::string& option = guess->options.front();  // columns=...[,ids=offset]
  const std::size_t begin = option.find('=') + 1, comma = option.find(',');
  const bool two_sided = comma != std::string::npos;
  EventGraph graph = read_rows(path, guess->layout, option.substr(begin, comma - begin), two_sided);
  graph.provenance.notes.push_back(fmt::format("a table between {}, read with {}; strobe inspect --explain says why",
                                               separator_name(guess->layout.separator), option));
  for (const ColumnGuess& column : guess->columns)
    if (column.role == ColumnRole::relation)
      graph.provenance.notes.push_back(
          fmt::format("{} looks like a relation and is not read: facts become edges from "
                      "head to tail, whatever relation they state",
                      column.name));
  if (two_sided)
    graph.provenance.notes.emplace_back(
        "sources and targets are of two kinds, so equal ids are two vertices; ids=shared makes them one");
  return graph;
}

EventGraph read_table_columns(const std::string& path, const std::string& columns) {
  const std::string head = read_head(path, probed_bytes);
  const auto layout = look_at_table(head, head.size() < probed_bytes);
  if (!layout || layout->rows.empty())
    throw InvalidInput(path, 0, 0,
                       "is not a table: every line needs the same number of columns, and there must be a row");
  if (!layout->doubt.empty()) throw InvalidInput(path, 0, 0, layout->doubt);
  return read_rows(path, *layout, columns, false);
}

const Register<FormatTag> table_registered{{"table",
                                            "text table with tabs, semicolons or others, whose columns are plain, or "
                                            "named by columns=source:A/target:B/time:C",
                                            "this project",
                                            {},
                                            {probe_table, read_table, nullptr, nullptr, read_table_columns},
                                            {}}};

}  // namespace
}  // namespace strobe
