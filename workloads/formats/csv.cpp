// Strobe's own csv, as write_csv writes it: header "source,target,time|step[,weight]", then one row per event; and that
// of others, whose columns stand in another order, have names of their own (option `columns`) and others between them,
// which are not read. A byte order mark before the header and quotes around its names are read over, and so are blanks
// around bare fields. Vertices are whole numbers, or names where the first row has one or quotes, numbered by first
// appearance; a name among numbers is an error, as it may be a slip, and so is a number that is not written with digits
// alone (1.0, 1e3, 0x1). Times are seconds or dates. Returns the events; a column called `step` holds whole numbers and
// makes the graph stepped. Cost: one pass, and one look-up per name.
#include <map>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/table/table_rows.hpp"
#include "workloads/reading/text/csv_columns.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

using ColumnNames = std::map<std::string, std::string>;

/// Surely with the columns as Strobe writes them; others are somebody's csv, unless another format knows them.
int probe_csv(std::string_view head, std::string_view) {
  const CsvColumns columns = find_csv_columns(csv_header_names(first_line(head)), {});
  if (!columns.found()) return 0;
  return columns.plain() ? 100 : 5;
}

/// The header and, of the first row, whether its vertices are names and its time is a date. Leaves the reader behind
/// the header.
TableRows read_layout(TextReader& reader, const ColumnNames& names) {
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::vector<std::string> header = csv_header_names(reader.line());
  TableRows layout;
  layout.columns = find_csv_columns(header, names);
  const CsvColumns& columns = layout.columns;
  require_csv_columns(reader.path(), header, columns, names);
  TextReader ahead(reader.path());
  if (ahead.next() && ahead.next()) {
    QuotedCsv csv;
    const auto& fields = csv.split(ahead);
    if (fields.size() != columns.count) return layout;  // refused with the others
    const bool numbers = is_like_number(fields[columns.source].text) && is_like_number(fields[columns.target].text);
    const bool quotes = columns.plain() && ahead.line().find('"') != std::string_view::npos;
    layout.dated = !columns.stepped && ahead.is_date(fields[columns.time]);
    layout.named = !numbers || quotes;
  }
  return layout;
}

EventGraph read_named_columns(const std::string& path, const ColumnNames& columns) {
  TextReader reader(path);
  const TableRows layout = read_layout(reader, columns);
  return read_table_rows(reader, layout, "csv");
}

EventGraph read_csv(const std::string& path) { return read_named_columns(path, {}); }

EventGraph read_csv_columns(const std::string& path, const std::string& columns) {
  return read_named_columns(path, column_names(columns, "columns"));
}

const Register<FormatTag> csv_registered{{"csv",
                                          "csv with header source,target,time|step[,weight], in any order and with "
                                          "other columns, or with names of its own (columns=); what `convert` writes",
                                          "this project",
                                          {},
                                          {probe_csv, read_csv, nullptr, nullptr, read_csv_columns},
                                          {}}};

}  // namespace
}  // namespace strobe
