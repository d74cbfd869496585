// SNAP temporal edge lists: "SRC DST UNIXTS" between blanks, # comment lines, no header, plain or gzip.
// Returns one event per row; rows need not be in time order. Cost: one pass over the text.
// Source: snap.stanford.edu, temporal networks (sx-*, email-Eu-core-temporal, CollegeMsg).
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/guessed_columns.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t snap_columns = 3;

/// Formats with the same columns and more evidence (a name, times that come first) answer with more certainty.
int probe_snap(std::string_view head, std::string_view) {
  const auto lines = data_lines(head, "#", 1);
  const bool fits = !lines.empty() && lines[0].find(',') == std::string_view::npos;
  if (!fits || line_numbers(lines[0]).size() != snap_columns) return 0;
  return has_other_order(head, head.size() < probed_bytes) ? 0 : 30;
}

void add_rows_snap(TextReader& reader, EventBuilder& events) {
  while (reader.next()) {
    if (reader.line().front() == '#') continue;
    const auto& fields = reader.split_blanks();
    if (fields.size() != snap_columns) {
      reader.fail(misplaced_column(reader.line(), fields, 3),
                  "expected 3 columns (source, target, time), found " + std::to_string(fields.size()));
    }
    const std::int64_t source = reader.whole(fields[0], "source vertex id");
    const std::int64_t target = reader.whole(fields[1], "target vertex id");
    events.add(source, target, reader.seconds(fields[2]));
  }
}

EventGraph read_snap(const std::string& path) {
  TextReader reader(path);
  EventBuilder events;
  if (parse_rows(reader, events, add_rows_snap) == 0) reader.fail_file("the file is empty");
  EventGraph graph = events.finish(path, "snap");
  note_guessed_columns(graph, "source, target, time");
  return graph;
}

const Register<FormatTag> snap_registered{{"snap",
                                           "SNAP temporal edge list: SRC DST UNIXTS, # comments",
                                           "snap.stanford.edu/data, temporal networks",
                                           {},
                                           {probe_snap, read_snap},
                                           {}}};

}  // namespace
}  // namespace strobe
