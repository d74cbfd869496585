// Strobe's own csv, as write_csv writes it: header "source,target,time|step[,weight]", then one row per event.
// A byte order mark before the header and quotes around its names are read over, and so are blanks around bare fields.
// Vertices are whole numbers, or names where the first row has one or quotes, numbered by first appearance; a name
// among numbers is an error, as it may be a slip, and so is a number that is not written with digits alone (1.0, 1e3,
// 0x1). Times are seconds or dates. Returns the events; a column called `step` holds whole numbers and makes the graph
// stepped. Cost: one pass, and one look-up per name.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/ids/id_words.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view time_header = "source,target,time";
constexpr std::string_view step_header = "source,target,step";
constexpr std::string_view weight_column = ",weight";

bool is_header(std::string_view line, std::string_view columns) {
  return line.substr(0, columns.size()) == columns &&
         (line.size() == columns.size() || line.substr(columns.size()) == weight_column);
}

/// The header without the quotes that spreadsheets and R put around names, and without blanks.
std::string unquoted(std::string_view line) {
  std::string text(line);
  std::erase(text, '"');
  return header_names(text);
}

int probe_csv(std::string_view head, std::string_view) {
  const std::string line = unquoted(first_line(head));
  return is_header(line, time_header) || is_header(line, step_header) ? 100 : 0;
}

struct CsvLayout {
  std::size_t columns = 3;
  bool stepped = false, named = false, dated = false;
};

/// The header and, of the first row, whether its vertices are names and its time is a date. Leaves the reader behind
/// the header.
CsvLayout read_layout(TextReader& reader) {
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::string names = unquoted(reader.line());
  CsvLayout layout;
  layout.stepped = is_header(names, step_header);
  if (!layout.stepped && !is_header(names, time_header)) {
    reader.fail(1, "expected the header source,target,time[,weight]");
  }
  layout.columns = reader.split_commas().size();
  TextReader ahead(reader.path());
  if (ahead.next() && ahead.next()) {
    QuotedCsv csv;
    const auto& fields = csv.split(ahead);
    const bool numbers = fields.size() > 1 && is_like_number(fields[0].text) && is_like_number(fields[1].text);
    layout.dated = fields.size() > 2 && !layout.stepped && ahead.is_date(fields[2]);
    layout.named = fields.size() == layout.columns && (!numbers || ahead.line().find('"') != std::string_view::npos);
  }
  return layout;
}

void check_columns(const TextReader& lines, const std::vector<Token>& fields, const CsvLayout& layout) {
  if (fields.size() == layout.columns) return;
  lines.fail(misplaced_column(lines.line(), fields, layout.columns),
             fmt::format("expected {} columns, found {}", layout.columns, fields.size()));
}

double read_time(const TextReader& lines, const Token& token, bool stepped) {
  if (!stepped) return lines.seconds_or_date(token);
  const auto step = static_cast<double>(lines.whole(token, "step"));
  if (step > std::numeric_limits<Step>::max()) lines.fail(token.column, "the step is beyond 2^31 - 1");
  return step;
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
  while (lines.next()) {
    const auto& fields = lines.split_commas();
    check_columns(lines, fields, layout);
    const std::int64_t source = vertex(fields[0], "source vertex id"), target = vertex(fields[1], "target vertex id");
    rows.add(source, target, read_time(lines, fields[2], layout.stepped));
    if (layout.columns == 4) rows.add_weight(lines.weight(fields[3]));
  }
}

void add_named_rows(TextReader& lines, const CsvLayout& layout, NameTable& names, EventBuilder& rows) {
  QuotedCsv csv;
  while (lines.next()) {
    const auto& fields = csv.split(lines);
    check_columns(lines, fields, layout);
    const std::int64_t source = names.number(lines.name(fields[0], "source"));
    const std::int64_t target = names.number(lines.name(fields[1], "target"));
    rows.add(source, target, read_time(lines, fields[2], layout.stepped));
    if (layout.columns == 4) rows.add_weight(lines.weight(fields[3]));
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
  refuse_twin_names(names, reader.path(), 0);
  return names;
}

EventGraph read_csv(const std::string& path) {
  TextReader reader(path);
  const CsvLayout layout = read_layout(reader);
  EventBuilder events;
  NameTable names;
  if (layout.named) {
    names = read_named_rows(reader, layout, events);
  } else {
    parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) { add_numbered_rows(lines, layout, rows); });
  }
  EventGraph graph = events.finish(path, "csv");
  graph.stepped = layout.stepped;
  graph.dated = layout.dated;
  if (layout.named) name_vertices(names, graph);
  if (layout.named)
    graph.provenance.notes.push_back("vertices have names in the file; ids number them by first appearance");
  return graph;
}

const Register<FormatTag> csv_registered{{"csv",
                                          "csv with header source,target,time|step[,weight]; what `convert` writes",
                                          "this project",
                                          {},
                                          {probe_csv, read_csv},
                                          {}}};

}  // namespace
}  // namespace strobe
