// Temporal networks of the Network Repository, *.edges: rows "u v t" or "u v weight t" after any number of comment
// lines that begin with % or #. Separators are commas everywhere or blanks and tabs everywhere. Returns one event per
// row, with the weight of 4-column files. The first row decides the separator and the columns. Files state nothing
// about their third column, so a static weighted network (u v weight) would pass for a temporal one; a note states how
// columns were read.
// Cost: one pass over the text.
// Source: Rossi and Ahmed, The Network Data Repository, AAAI 2015; networkrepository.com.
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/guessed_columns.hpp"
#include "workloads/reading/events/matrix_market.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view comments = "%#";

/// The name is the only sign: bare columns of numbers could be anything, and a wrong guess would be read in silence.
/// Quadruples of a knowledge graph (head, relation, tail, time) are left to `table`.
int probe_network_repository(std::string_view head, std::string_view name) {
  const auto lines = data_lines(head, comments, 1);
  if (!has_suffix(name, ".edges") || lines.empty() || has_other_order(head, head.size() < probed_bytes)) return 0;
  return line_numbers(lines[0]).empty() ? 15 : 60;
}

struct Layout {
  bool commas = false;
  std::size_t columns = 0;  // 0 until the first row
};

void add_row(TextReader& reader, Layout& layout, EventBuilder& events) {
  if (layout.columns == 0) layout.commas = reader.line().find(',') != std::string_view::npos;
  const auto& fields = layout.commas ? reader.split_commas() : reader.split_blanks();
  if (fields.size() != 3 && fields.size() != 4) {
    reader.fail(misplaced_column(reader.line(), fields, 4),
                "expected 3 or 4 columns (source, target, [weight,] time), found " + std::to_string(fields.size()));
  }
  if (layout.columns == 0) layout.columns = fields.size();
  if (fields.size() != layout.columns) {
    reader.fail(misplaced_column(reader.line(), fields, layout.columns),
                "the rows before have " + std::to_string(layout.columns) + " columns, this one has " +
                    std::to_string(fields.size()));
  }
  const std::int64_t source = reader.whole(fields[0], "source vertex id");
  const std::int64_t target = reader.whole(fields[1], "target vertex id");
  events.add(source, target, reader.seconds(fields.back()));
  if (layout.columns == 4) events.add_weight(reader.weight(fields[2]));
}

EventGraph read_network_repository(const std::string& path) {
  TextReader reader(path);
  EventBuilder events;
  Layout layout;
  bool any = false;
  const auto at_comment = [](const TextReader& lines) {
    return comments.find(lines.line().front()) != std::string_view::npos;
  };
  while (layout.columns == 0 && reader.next()) {  // the first row settles the layout
    any = true;
    if (is_matrix_market(reader.line()))
      reader.fail(
          1,
          "this is a Matrix Market file, which has a line of sizes and no times; take out format=network-repository");
    if (!at_comment(reader)) add_row(reader, layout, events);
  }
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    Layout same = layout;
    while (lines.next()) {
      if (at_comment(lines)) lines.fail(1, "a comment between rows; move it before the first row");
      add_row(lines, same, rows);
    }
  });
  if (!any) reader.fail_file("the file is empty");
  EventGraph graph = events.finish(path, "network-repository");
  note_guessed_columns(graph, layout.columns == 3 ? "source, target, time" : "source, target, weight, time");
  return graph;
}

const Register<FormatTag> network_repository_registered{
    {"network-repository",
     "Network Repository *.edges: u v [weight] time between commas or blanks",
     "Rossi and Ahmed, The Network Data Repository, AAAI 2015",
     {},
     {probe_network_repository, read_network_repository},
     {}}};

}  // namespace
}  // namespace strobe
