// Interactions of users with items in the two csv forms of JODIE data:
//   user_id,item_id,timestamp,state_label,comma_separated_list_of_features   rows have 4 + k fields, k the same in all
//   u,i,ts,label                                                             the form without features
// Returns one event user -> item per row, with its label and k features. In the first form both sides are numbered from
// 0, so the graph is two-sided; in the second the file's author numbered the items after the users.
// Cost: one pass over the text, 4 k bytes an event.
// Source: Kumar et al., Predicting Dynamic Embedding Trajectory in Temporal Interaction Networks, KDD 2019.
#include <fmt/format.h>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view full_header = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features";
constexpr std::string_view short_header = "u,i,ts,label";
constexpr std::size_t fixed_columns = 4;

int probe_jodie(std::string_view head, std::string_view) {
  const std::string line = header_names(first_line(head));
  return line == full_header || line == short_header ? 100 : 0;
}

void add_row(TextReader& reader, bool full, std::size_t& columns, EventBuilder& events) {
  const auto& fields = reader.split_commas();
  if (full ? fields.size() < fixed_columns : fields.size() != fixed_columns) {
    reader.fail(misplaced_column(reader.line(), fields, fixed_columns),
                fmt::format("expected {}4 columns (user, item, time, label{}), found {}", full ? "at least " : "",
                            full ? ", features" : "", fields.size()));
  }
  if (columns == 0) columns = fields.size();
  if (fields.size() != columns) {
    reader.fail(misplaced_column(reader.line(), fields, columns),
                fmt::format("the rows before have {} columns, this one has {}", columns, fields.size()));
  }
  const std::int64_t user = reader.whole(fields[0], "user id");
  const std::int64_t item = reader.whole(fields[1], "item id");
  events.add(user, item, reader.seconds(fields[2]));
  events.add_label(reader.label(fields[3], "label"));
  for (std::size_t i = fixed_columns; i < columns; ++i) events.add_feature(reader.single(fields[i], "feature"));
}

EventGraph read_jodie(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::string names = header_names(reader.line());
  const bool full = names == full_header;
  if (!full && names != short_header)
    reader.fail(1, "expected the header user_id,item_id,timestamp,state_label,... or u,i,ts,label");
  EventBuilder events;
  std::size_t columns = 0;
  if (reader.next()) add_row(reader, full, columns, events);  // settles the number of columns
  parse_rows(reader, events, [=](TextReader& lines, EventBuilder& rows) {
    std::size_t same = columns;
    while (lines.next()) add_row(lines, full, same, rows);
  });
  EventGraph graph = events.finish(path, "jodie");
  graph.two_sided = full;
  if (!full) {
    graph.provenance.notes.push_back(
        fmt::format("users and items share one id space in the form u,i,ts,label; {} ids occur on both sides",
                    ids_on_both_sides(graph)));
  }
  return graph;
}

const Register<FormatTag> jodie_registered{
    {"jodie",
     "JODIE interactions (csv): user_id,item_id,timestamp,... or u,i,ts,label",
     "Kumar et al., Predicting Dynamic Embedding Trajectory in Temporal Interaction "
     "Networks, KDD 2019",
     {},
     {probe_jodie, read_jodie},
     {}}};

}  // namespace
}  // namespace strobe
