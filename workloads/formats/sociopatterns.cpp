// SocioPatterns contact lists, tij_*: rows "t i j" between blanks, the time first, on a grid of 20 s.
// Returns one event i -> j per row. The columns look like SNAP's "u v t", so without the name a file is recognised by
// its rows: times that never fall and lie on the grid in column 1, and no such order in column 3.
// Cost: one pass over the text. Source: sociopatterns.org, data sets; Genois and Barrat, EPJ Data Science 7, 2018.
#include <algorithm>
#include <cmath>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/guessed_columns.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t sociopatterns_columns = 3;
constexpr double grid_s = 20;
constexpr std::size_t fewest_rows = 8, most_rows = 2000;  // that a guess without the name looks at

/// Column 1 of `rows` is a time on the grid and column 3 is none.
bool times_come_first(const std::vector<std::vector<double>>& rows) {
  if (rows.size() < fewest_rows) return false;
  bool third_sorted = true;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const double step = rows[i][0] - rows[i - 1][0];
    if (step < 0 || std::fmod(step, grid_s) != 0) return false;
    third_sorted = third_sorted && rows[i][2] >= rows[i - 1][2];
  }
  return rows.back()[0] > rows.front()[0] && !third_sorted;
}

int probe_sociopatterns(std::string_view head, std::string_view name) {
  const bool named = name.starts_with("tij");
  std::vector<std::vector<double>> rows;
  for (const std::string_view line : data_lines(head, "#", named ? 1 : most_rows)) {
    if (line.find(',') != std::string_view::npos) return 0;
    rows.push_back(line_numbers(line));
    if (rows.back().size() != sociopatterns_columns) return 0;
  }
  if (rows.empty()) return 0;
  if (named) return 70;
  return times_come_first(rows) ? 50 : 0;
}

void add_rows_sociopatterns(TextReader& reader, EventBuilder& events) {
  while (reader.next()) {
    if (reader.line().front() == '#') continue;
    const auto& fields = reader.split_blanks();
    if (fields.size() != sociopatterns_columns) {
      reader.fail(misplaced_column(reader.line(), fields, 3),
                  "expected 3 columns (time, source, target), found " + std::to_string(fields.size()));
    }
    const double time = reader.seconds(fields[0]);
    const std::int64_t source = reader.whole(fields[1], "source vertex id");
    events.add(source, reader.whole(fields[2], "target vertex id"), time);
  }
}

EventGraph read_sociopatterns(const std::string& path) {
  TextReader reader(path);
  EventBuilder events;
  if (parse_rows(reader, events, add_rows_sociopatterns) == 0) reader.fail_file("the file is empty");
  EventGraph graph = events.finish(path, "sociopatterns");
  note_guessed_columns(graph, "time, source, target");
  graph.provenance.notes.push_back(
      "contacts have no direction: each row is kept as one event; orientation=both adds the reverse");
  return graph;
}

const Register<FormatTag> sociopatterns_registered{
    {"sociopatterns",
     "SocioPatterns contact list tij_*: TIME i j, the time first",
     "Genois and Barrat, Can co-location be used as a proxy for face-to-face "
     "contacts?, EPJ Data Science 7, 2018",
     {},
     {probe_sociopatterns, read_sociopatterns},
     {}}};

}  // namespace
}  // namespace strobe
