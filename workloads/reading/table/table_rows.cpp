// Cost: one pass over the text, and one look-up per name.
#include "workloads/reading/table/table_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"

namespace strobe {
namespace {

/// A copy in registers: otherwise the compiler must assume that writing a row changes columns of the layout.
struct Places {
  std::size_t source, target, time, weight;
  bool stepped;
  bool seconds;
  long double unit;  // of times in a second
};

Places places_of(const TableRows& layout) {
  const CsvColumns& columns = layout.columns;
  const long double unit = layout.unit == TimeUnit::milliseconds   ? 1e3L
                           : layout.unit == TimeUnit::microseconds ? 1e6L
                           : layout.unit == TimeUnit::nanoseconds  ? 1e9L
                                                                   : 1;
  return {columns.source, columns.target, columns.time, columns.weight, columns.stepped, unit == 1, unit};
}

void check_columns(const TextReader& lines, const std::vector<Token>& fields, const TableRows& layout) {
  if (!layout.comment.empty() && lines.line().starts_with(layout.comment))
    lines.fail(1, "a comment between rows; move it before the first row");
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

double read_time(const TextReader& lines, const Token& token, const Places& places) {
  if (!places.seconds && !TextReader::is_date(token))
    return static_cast<double>(static_cast<long double>(lines.whole(token, "time")) / places.unit);
  if (!places.stepped) return read_seconds(lines, token);
  const auto step = static_cast<double>(lines.whole(token, "step"));
  if (step > std::numeric_limits<Step>::max()) lines.fail(token.column, "the step is beyond 2^31 - 1");
  return step;
}

void add_numbered_rows(TextReader& lines, const TableRows& layout, EventBuilder& rows) {
  const auto vertex = [&](const Token& token, const char* what) {
    if (!is_like_number(token.text) && !token.text.empty()) {
      lines.fail(token.column, fmt::format("{} '{}' is not a whole number, but those of the first row are; vertices "
                                           "with names need a name in the first row too",
                                           what, printable(token.text)));
    }
    return lines.whole(token, what);
  };
  const Places at = places_of(layout);
  const bool alone = layout.columns.ignored.empty() && layout.separator == ",";
  QuotedCsv csv(layout.separator);  // texts of other columns may hold commas in quotes
  while (lines.next()) {
    const auto& fields = alone ? lines.split_commas() : csv.split(lines);
    check_columns(lines, fields, layout);
    const std::int64_t source = vertex(fields[at.source], "source vertex id"),
                       target = vertex(fields[at.target], "target vertex id");
    rows.add(source, target, read_time(lines, fields[at.time], at));
    if (at.weight != CsvColumns::none) rows.add_weight(lines.weight(fields[at.weight]));
  }
}

void add_named_rows(TextReader& lines, const TableRows& layout, NameTable& names, EventBuilder& rows) {
  const Places at = places_of(layout);
  QuotedCsv csv(layout.separator);
  while (lines.next()) {
    const auto& fields = csv.split(lines);
    check_columns(lines, fields, layout);
    const std::int64_t source = names.number(lines.name(fields[at.source], "source"));
    const std::int64_t target = names.number(lines.name(fields[at.target], "target"));
    rows.add(source, target, read_time(lines, fields[at.time], at));
    if (at.weight != CsvColumns::none) rows.add_weight(lines.weight(fields[at.weight]));
  }
}

/// Returns the names by number.
NameTable read_named_rows(TextReader& reader, const TableRows& layout, EventBuilder& events) {
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
  refuse_twin_names(names, reader.path(), layout.columns.source, layout.columns.target, layout.separator);
  return names;
}

}  // namespace

EventGraph read_table_rows(TextReader& reader, const TableRows& layout, const std::string& format) {
  EventBuilder events;
  NameTable names;
  if (layout.named) {
    names = read_named_rows(reader, layout, events);
  } else {
    parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) { add_numbered_rows(lines, layout, rows); });
  }
  EventGraph graph = events.finish(reader.path(), format);
  graph.stepped = layout.columns.stepped;
  graph.dated = layout.dated;
  graph.two_sided = layout.two_sided;
  if (layout.named) name_vertices(names, graph);
  if (layout.named)
    graph.provenance.notes.push_back("vertices have names in the file; ids number them by first appearance");
  const std::string ignored = ignored_columns_note(layout.columns);
  if (!ignored.empty()) graph.provenance.notes.push_back(ignored);
  return graph;
}

}  // namespace strobe
