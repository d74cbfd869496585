// Strobe's own csv, as write_csv writes it: header "source,target,time|step[,weight]", then one row per event.
// A byte order mark before the header and quotes around its names are read over. Returns the events; a column called
// `step` holds whole numbers and makes the graph stepped. Cost: one pass.
#include <cmath>
#include <limits>

#include "workloads/event_builder.hpp"
#include "workloads/parse_rows.hpp"
#include "workloads/probing.hpp"
#include "workloads/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::string_view time_header = "source,target,time";
constexpr std::string_view step_header = "source,target,step";
constexpr std::string_view weight_column = ",weight";

bool is_header(std::string_view line, std::string_view columns) {
  return line.substr(0, columns.size()) == columns &&
         (line.size() == columns.size() || line.substr(columns.size()) == weight_column);
}

/// The header without the quotes that spreadsheets and R put around names.
std::string unquoted(std::string_view line) {
  std::string text(line);
  std::erase(text, '"');
  return text;
}

int probe_csv(std::string_view head, std::string_view) {
  const std::string line = unquoted(first_line(head));
  return is_header(line, time_header) || is_header(line, step_header) ? 100 : 0;
}

EventGraph read_csv(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::string names = unquoted(reader.line());
  const bool stepped = is_header(names, step_header);
  if (!stepped && !is_header(names, time_header)) reader.fail(1, "expected the header source,target,time[,weight]");
  const std::size_t columns = reader.split_commas().size();
  EventBuilder events;
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) {
      const auto& fields = lines.split_commas();
      if (fields.size() != columns) {
        lines.fail(misplaced_column(lines.line(), fields, columns),
                   "expected " + std::to_string(columns) + " columns, found " + std::to_string(fields.size()));
      }
      const std::int64_t source = lines.whole(fields[0], "source vertex id");
      const std::int64_t target = lines.whole(fields[1], "target vertex id");
      const double time = stepped ? static_cast<double>(lines.whole(fields[2], "step")) : lines.seconds(fields[2]);
      if (stepped && time > std::numeric_limits<Step>::max())
        lines.fail(fields[2].column, "the step is beyond 2^31 - 1");
      rows.add(source, target, time);
      if (columns == 4) rows.add_weight(lines.weight(fields[3]));
    }
  });
  EventGraph graph = events.finish(path, "csv");
  graph.stepped = stepped;
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
