// Strobe's own csv, as write_csv writes it: header "source,target,time|step[,weight]", then one row per event. Csv
// files of others are read too: their columns may be in another order, have other names (option `columns`) and have
// others between them, which are ignored. A byte order mark before the header, quotes around its names and blanks
// around bare fields are skipped. Vertices are whole numbers, or names where the first row has a name or quotes. Names
// are numbered by first appearance. A name among numbers is an error because it may be a slip; so is a number that is
// not written with digits alone (1.0, 1e3, 0x1). Times are seconds or dates. Returns the events. A column called `step`
// holds whole numbers and makes the graph stepped.
// Cost: one pass, and one look-up per name.
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

/// Reads the header, and finds out from the first row whether vertices are names and whether times are dates. Leaves
/// the reader after the header.
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
