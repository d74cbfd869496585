// SNAP's weighted signed networks (soc-sign-bitcoin*): csv rows SOURCE,TARGET,RATING,TIME, without a header or with
// "from,to,feature,time", times whole or fractional.
// Returns one event per row; the rating, which may be negative, is the weight. Cost: one pass over the text.
// Source: Kumar et al., Edge Weight Prediction in Weighted Signed Networks, ICDM 2016; snap.stanford.edu.
#include <cmath>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/guessed_columns.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::size_t snap_signed_columns = 4;
constexpr double earliest_time = 1e8;  // March 1973: without a header, smaller numbers may be anything

bool is_header(std::string_view line) {
  const std::string names = header_names(line);
  return names == "from,to,feature,time" || names == "SOURCE,TARGET,RATING,TIME";
}

bool is_id(double value) { return value >= 0 && value == std::floor(value); }

int probe_snap_signed(std::string_view head, std::string_view) {
  const std::string_view line = first_line(head);
  if (is_header(line)) return 100;
  if (line.find(',') == std::string_view::npos) return 0;
  const std::vector<double> row = line_numbers(line);
  const bool fits = row.size() == snap_signed_columns && is_id(row[0]) && is_id(row[1]) && row[3] >= earliest_time;
  return fits && !has_other_order(head, head.size() < probed_bytes) ? 40 : 0;
}

void add_row(TextReader& reader, EventBuilder& events) {
  const auto& fields = reader.split_commas();
  if (fields.size() != snap_signed_columns) {
    reader.fail(misplaced_column(reader.line(), fields, 4),
                "expected 4 columns (source, target, rating, time), found " + std::to_string(fields.size()));
  }
  const std::int64_t source = reader.whole(fields[0], "source vertex id");
  const std::int64_t target = reader.whole(fields[1], "target vertex id");
  events.add(source, target, reader.seconds(fields[3]));
  events.add_weight(reader.within_single(fields[2], "rating"));
}

EventGraph read_snap_signed(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  EventBuilder events;
  const bool named = is_header(reader.line());
  if (!named) add_row(reader, events);
  parse_rows(reader, events, [](TextReader& lines, EventBuilder& rows) {
    while (lines.next()) add_row(lines, rows);
  });
  EventGraph graph = events.finish(path, "snap-signed");
  if (!named) note_guessed_columns(graph, "source, target, rating, time");
  return graph;
}

const Register<FormatTag> snap_signed_registered{
    {"snap-signed",
     "SNAP signed network: csv SOURCE,TARGET,RATING,TIME, with or without a header",
     "Kumar et al., Edge Weight Prediction in Weighted Signed Networks, ICDM 2016",
     {},
     {probe_snap_signed, read_snap_signed},
     {}}};

}  // namespace
}  // namespace strobe
