// TGN's and TGAT's preprocessed events, ml_NAME.csv: header ",u,i,ts,label,idx"; the first column numbers the rows and
// idx is the event's row in ml_NAME.npy (edge features, row 0 is padding); row v of ml_NAME_node.npy has the features
// of vertex v. Returns one event per row with its label, and features of events and vertices when the .npy files lie in
// the folder of the csv.
// Cost: one pass over each file, 4 F_e bytes an event and 4 F_v a vertex.
// Source: Rossi et al., Temporal Graph Networks for Deep Learning on Dynamic Graphs, 2020, utils/preprocess_data.py.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/feature_arrays.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view tgn_header = ",u,i,ts,label,idx";
constexpr std::size_t tgn_columns = 6;

int probe_tgn(std::string_view head, std::string_view) {
  return header_names(first_line(head)) == tgn_header ? 100 : 0;
}

/// The file NAME`suffix` in the folder of NAME.csv or NAME.csv.gz, or "".
std::string beside(const std::string& path, const char* suffix) {
  std::string stem = path;
  for (const std::string_view end : {".gz", ".csv"}) {
    if (stem.ends_with(end)) stem.erase(stem.size() - end.size());
  }
  const std::string file = stem + suffix;
  return input_exists(file) ? file : "";
}

std::vector<std::string> companions_tgn(const std::string& path) {
  std::vector<std::string> files{beside(path, ".npy"), beside(path, "_node.npy")};
  std::erase(files, "");
  return files;
}

std::string rows_note(const std::string& file, const TakenFeatures& taken, std::int64_t events) {
  const std::vector<std::int64_t>& shape = taken.shape;
  const std::string name = std::filesystem::path(file).filename().string();
  const bool usual = shape[0] == events + 1 && taken.least_row == 1;
  return fmt::format("{} has {} rows of {} features for {} events, taken by idx{}", name, shape[0], shape[1], events,
                     usual ? "; row 0 is padding" : " (not one a row after a row of padding)");
}

void add_rows_tgn(TextReader& reader, EventBuilder& events, bool with_features) {
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != tgn_columns)
      reader.fail(misplaced_column(reader.line(), fields, tgn_columns),
                  fmt::format("expected 6 columns, found {}", fields.size()));
    reader.whole(fields[0], "row number");
    const std::int64_t source = reader.whole(fields[1], "source vertex id");
    const std::int64_t target = reader.whole(fields[2], "target vertex id");
    events.add(source, target, reader.seconds(fields[3]));
    events.add_label(reader.label(fields[4], "label"));
    const std::int64_t idx = reader.whole(fields[5], "idx");
    if (with_features) add_feature_row(idx, events);
  }
}

EventGraph read_tgn(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (header_names(reader.line()) != tgn_header) reader.fail(1, "expected the header " + std::string(tgn_header));
  EventBuilder events;
  const std::string edge_file = beside(path, ".npy"), vertex_file = beside(path, "_node.npy");
  parse_rows(reader, events,
             [&](TextReader& lines, EventBuilder& rows) { add_rows_tgn(lines, rows, !edge_file.empty()); });
  EventGraph graph = events.finish(path, "tgn");
  if (!edge_file.empty()) {
    const TakenFeatures taken = take_edge_features(edge_file, "idx", graph);
    graph.provenance.notes.push_back(rows_note(edge_file, taken, graph.events()));
  }
  if (!vertex_file.empty()) add_vertex_features(vertex_file, graph);
  return graph;
}

const Register<FormatTag> tgn_registered{
    {"tgn",
     "TGN / TGAT events ml_*.csv: ,u,i,ts,label,idx, with ml_*.npy in the same folder",
     "Rossi et al., Temporal Graph Networks for Deep Learning on Dynamic Graphs, 2020",
     {},
     {probe_tgn, read_tgn, nullptr, companions_tgn},
     {}}};

}  // namespace
}  // namespace strobe
