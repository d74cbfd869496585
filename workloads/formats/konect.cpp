// KONECT networks, out.*: one line "% sym|asym|bip TYPE", an optional line "% m [n1 n2]", then "u v [w [t]]" between
// runs of spaces and tabs, plain or gzip.
// Returns one event per row. Rows without a time get time 0, so the graph is one static step. The two sides of a `bip`
// network have their own id spaces (`two_sided`). The number of rows must equal m when the file states it. Cost: one
// pass over the text. In a network of type `dynamic` a row of weight 1 adds its edge and one of weight -1 removes it
// (`removals`); where such a network is undirected, rows have the smaller id first, so that u v and v u are one edge.
// Source: KONECT handbook, section File Formats.
#include <utility>

#include "core/errors.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/graph/removals.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

struct Header {
  bool bipartite = false;
  bool undirected = false;
  bool dynamic = false;  // rows add and remove edges
  std::int64_t stated_rows = -1;
  bool done = false;  // the reader is at the first row
};

int probe_konect(std::string_view head, std::string_view) {
  const std::string_view line = first_line(head);
  for (const std::string_view start : {"% sym", "% asym", "% bip", "%sym", "%asym", "%bip"}) {
    if (line.substr(0, start.size()) == start) return 100;
  }
  return 0;
}

/// Fields of a % line without the %.
std::vector<Token> comment_fields(TextReader& reader) {
  std::vector<Token> fields = reader.split_blanks();
  if (fields.front().text == "%") {
    fields.erase(fields.begin());
  } else {
    fields.front().text.remove_prefix(1);
    ++fields.front().column;
  }
  return fields;
}

bool at_comment(const TextReader& reader) {
  const std::size_t begin = reader.line().find_first_not_of(" \t");
  return begin != std::string_view::npos && reader.line()[begin] == '%';
}

Header read_header(TextReader& reader) {
  if (!reader.next()) reader.fail_file("the file is empty");
  if (reader.line().front() != '%') reader.fail(1, "a KONECT file begins with a line like '% asym positive'");
  Header header;
  const std::vector<Token> first = comment_fields(reader);
  const std::string_view kind = first.empty() ? std::string_view() : first[0].text;
  if (kind != "sym" && kind != "asym" && kind != "bip") {
    reader.fail(first.empty() ? 1 : first[0].column,
                "the first line must state sym, asym or bip, found '" + printable(kind) + "'");
  }
  header.bipartite = kind == "bip";
  header.undirected = kind == "sym";
  header.dynamic = first.size() > 1 && first[1].text == "dynamic";
  if (!reader.next()) return header;
  header.done = reader.line().front() != '%';
  if (header.done) return header;
  const std::vector<Token> counts = comment_fields(reader);
  if (counts.empty() || counts.size() > 3) reader.fail(1, "the second % line must be '% m [n1 n2]'");
  header.stated_rows = reader.whole(counts[0], "number of edges");
  for (std::size_t i = 1; i < counts.size(); ++i) reader.whole(counts[i], "number of vertices");
  return header;
}

/// The weight of a row that adds (1) or removes (-1) its edge.
float read_change(const TextReader& reader, Token token) {
  if (token.text == "+1") token.text.remove_prefix(1);
  const float weight = reader.weight(token);
  if (weight != 1 && weight != -1)
    reader.fail(token.column, "a row of a dynamic network has weight 1 (the edge is added) or -1 (removed), found " +
                                  printable(token.text));
  return weight;
}

void add_dynamic_row(const TextReader& reader, const std::vector<Token>& fields, bool undirected,
                     EventBuilder& events) {
  if (fields.size() != 4)
    reader.fail(
        misplaced_column(reader.line(), fields, 4),
        "a dynamic network has 4 columns (source, target, 1 or -1, time), found " + std::to_string(fields.size()));
  std::int64_t source = reader.whole(fields[0], "source vertex id");
  std::int64_t target = reader.whole(fields[1], "target vertex id");
  if (undirected && source > target) std::swap(source, target);
  events.add_weight(read_change(reader, fields[2]));
  events.add(source, target, reader.seconds(fields[3]));
}

void add_row(TextReader& reader, const Header& header, std::size_t& columns, EventBuilder& events) {
  if (at_comment(reader)) reader.fail(1, "a third % line; KONECT files have one or two, before the rows");
  const auto& fields = reader.split_blanks();
  if (fields.size() < 2 || fields.size() > 4) {
    reader.fail(misplaced_column(reader.line(), fields, 4),
                "expected 2 to 4 columns (source, target, weight, time), found " + std::to_string(fields.size()));
  }
  if (columns == 0) columns = fields.size();
  if (header.dynamic) return add_dynamic_row(reader, fields, header.undirected, events);
  if (fields.size() != columns) {
    reader.fail(
        misplaced_column(reader.line(), fields, columns),
        "the rows before have " + std::to_string(columns) + " columns, this one has " + std::to_string(fields.size()));
  }
  const std::int64_t source = reader.whole(fields[0], "source vertex id");
  const std::int64_t target = reader.whole(fields[1], "target vertex id");
  events.add(source, target, columns == 4 ? reader.seconds(fields[3]) : 0.0);
  if (columns >= 3) events.add_weight(reader.weight(fields[2]));
}

EventGraph read_konect(const std::string& path) {
  TextReader reader(path);
  const Header header = read_header(reader);
  EventBuilder events;
  std::size_t columns = 0;
  if (header.done || reader.next()) add_row(reader, header, columns, events);  // settles the number of columns
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    std::size_t same = columns;
    while (lines.next()) add_row(lines, header, same, rows);
  });
  if (header.stated_rows >= 0 && header.stated_rows != events.rows()) {
    throw InvalidInput(path, 2, 3,
                       "the header states " + std::to_string(header.stated_rows) + " edges, the file has " +
                           std::to_string(events.rows()));
  }
  EventGraph graph = events.finish(path, "konect");
  if (columns < 4) graph.provenance.notes.push_back(no_times_note);
  graph.two_sided = header.bipartite;
  if (header.undirected)
    graph.provenance.notes.push_back(
        header.dynamic
            ? "undirected network: each row is kept with the smaller id first; orientation=both adds the reverse"
            : "undirected network: each row is kept as one event; orientation=both adds the reverse");
  if (header.dynamic) settle_removals(graph);
  return graph;
}

const Register<FormatTag> konect_registered{{"konect",
                                             "KONECT out.*: % header, then u v [weight [time]]",
                                             "Kunegis, KONECT - The Koblenz Network Collection, WWW Companion 2013",
                                             {},
                                             {probe_konect, read_konect},
                                             {}}};

}  // namespace
}  // namespace strobe
