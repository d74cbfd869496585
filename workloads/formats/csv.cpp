// Strobe's own csv, as write_csv writes it: header "source,target,time|step[,weight]", then one row per event; and that
// of others, whose columns stand in another order, have names of their own (option `columns`) and others between them,
// which are not read. A byte order mark before the header and quotes around its names are read over, and so are blanks
// around bare fields. Vertices are whole numbers, or names where the first row has one or quotes, numbered by first
// appearance; a name among numbers is an error, as it may be a slip, and so is a number that is not written with digits
// alone (1.0, 1e3, 0x1). Times are seconds or dates. Returns the events; a column called `step` holds whole numbers and
// makes the graph stepped. Cost: one pass, and one look-up per name.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
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

struct CsvLayout {
  CsvColumns columns;
  bool named = false, dated = false;
};

/// The header and, of the first row, whether its vertices are names and its time is a date. Leaves the reader behind
/// the header.
CsvLayout read_layout(TextReader& reader, const ColumnNames& names) {
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::vector<std::string> header = csv_header_names(reader.line());
  CsvLayout layout{find_csv_columns(header, names)};
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

void check_columns(const TextReader& lines, const std::vector<Token>& fields, const CsvLayout& layout) {
  const std::size_t count = layout.columns.count;
  if (fields.size() == count) return;
  lines.fail(misplaced_column(lines.line(), fields, count),
             fmt::format("expected {} columns, found {}", count, fields.size()));
}

/// 31.01.2023, 01/31/2023: a date in an order that is somebody's custom.
bool is_date_by_custom(std::string_view text) {
  return text.find_first_not_of("0123456789./- :TZ+") == std::string_view::npos &&
         (std::count(text.begin(), text.end(), '.') == 2 || std::count(text.begin(), text.end(), '/') == 2);
}

double read_seconds(const TextReader& lines, const Token& token) {
  try {
    return lines.seconds_or_date(token);
  } catch (const InvalidInput&) {
    if (TextReader::is_date(token) || !is_date_by_custom(token.text)) throw;
    lines.fail(token.column, fmt::format("'{}' leaves open which is the day and which the month; write dates as "
                                         "2023-01-31 (pandas: to_datetime(..., dayfirst=...))",
                                         printable(token.text)));
  }
}

double read_time(const TextReader& lines, const Token& token, bool stepped) {
  if (!stepped) return read_seconds(lines, token);
  const auto step = static_cast<double>(lines.whole(token, "step"));
  if (step > std::numeric_limits<Step>::max()) lines.fail(token.column, "the step is beyond 2^31 - 1");
  return step;
}

/// A copy in registers: what a row writes could be columns of the layout, for all that the compiler knows.
struct CsvPlaces {
  std::size_t source, target, time, weight;
  bool stepped;
};
CsvPlaces places_of(const CsvColumns& columns) {
  return {columns.source, columns.target, columns.time, columns.weight, columns.stepped};
}

void add_numbered_rows(TextReader& lines, const CsvLayout& layout, EventBuilder& rows) {
  const auto vertex = [&](const Token& token, const char* what) {
    if (!is_like_number(token.text) && !token.text.empty()) {
      lines.fail(token.column,
                 fmt::format("{} '{}' is not a whole number, as those of the first row are; vertices with "
                             "names must have them from the first row on",
                             what, printable(token.text)));
    }
    return lines.whole(token, what);
  };
  const auto [at_source, at_target, at_time, at_weight, stepped] = places_of(layout.columns);
  const bool alone = layout.columns.ignored.empty();
  QuotedCsv csv;  // texts of other columns may hold commas in quotes
  while (lines.next()) {
    const auto& fields = alone ? lines.split_commas() : csv.split(lines);
    check_columns(lines, fields, layout);
    const std::int64_t source = vertex(fields[at_source], "source vertex id"),
                       target = vertex(fields[at_target], "target vertex id");
    rows.add(source, target, read_time(lines, fields[at_time], stepped));
    if (at_weight != CsvColumns::none) rows.add_weight(lines.weight(fields[at_weight]));
  }
}

void add_named_rows(TextReader& lines, const CsvLayout& layout, NameTable& names, EventBuilder& rows) {
  const auto [at_source, at_target, at_time, at_weight, stepped] = places_of(layout.columns);
  QuotedCsv csv;
  while (lines.next()) {
    const auto& fields = csv.split(lines);
    check_columns(lines, fields, layout);
    const std::int64_t source = names.number(lines.name(fields[at_source], "source"));
    const std::int64_t target = names.number(lines.name(fields[at_target], "target"));
    rows.add(source, target, read_time(lines, fields[at_time], stepped));
    if (at_weight != CsvColumns::none) rows.add_weight(lines.weight(fields[at_weight]));
  }
}

/// Returns the names by number.
NameTable read_named_rows(TextReader& reader, const CsvLayout& layout, EventBuilder& events) {
  NameTable names;
  PerPart<NameTable> parts;  // names are numbered part by part, and all together when their order is known
  parse_rows(
      reader, events,
      [&](std::size_t part, TextReader& lines, EventBuilder& rows) {
        add_named_rows(lines, layout, parts[part], rows);
      },
      [&](std::size_t part, EventBuilder& rows) {
        const std::vector<std::int64_t> numbers = names.add(std::exchange(parts[part], {}));
        if (names.size() > std::numeric_limits<VertexId>::max())
          throw InvalidInput(reader.path(), 0, 0, "the file has more than 2^31 - 1 distinct vertex names");
        rows.renumber(numbers, numbers);
      });
  refuse_twin_names(names, reader.path(), layout.columns.source, layout.columns.target);
  return names;
}

EventGraph read_named_columns(const std::string& path, const ColumnNames& columns) {
  TextReader reader(path);
  const CsvLayout layout = read_layout(reader, columns);
  EventBuilder events;
  NameTable names;
  if (layout.named) {
    names = read_named_rows(reader, layout, events);
  } else {
    parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) { add_numbered_rows(lines, layout, rows); });
  }
  EventGraph graph = events.finish(path, "csv");
  graph.stepped = layout.columns.stepped;
  graph.dated = layout.dated;
  if (layout.named) name_vertices(names, graph);
  if (layout.named)
    graph.provenance.notes.push_back("vertices have names in the file; ids number them by first appearance");
  const std::string ignored = ignored_columns_note(layout.columns);
  if (!ignored.empty()) graph.provenance.notes.push_back(ignored);
  return graph;
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
