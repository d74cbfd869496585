// TGL's edges.csv: header ",src,dst,time,ext_roll" or ",src,dst,time,int_roll,ext_roll"; the first column numbers the
// rows. A roll says which part the event belongs to: 0 train, 1 validation, 2 test. Returns one event per row; the
// sizes of the three parts of ext_roll are noted. labels.csv or labels.csv.gz in the same folder
// (",node,time,label,ext_roll") becomes timed labels. TGL keeps features as PyTorch tensors, edge_features.pt by row
// number and node_features.pt by vertex id; saved as .npy under the same names they are read, otherwise a note says
// that they are not.
// Cost: one pass over each file.
// Source: Zhou et al., TGL: A General Framework for Temporal GNN Training on Billion-Scale Graphs, VLDB 2022.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "workloads/graph/growing_labels.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/reading/events/event_builder.hpp"
#include "workloads/reading/events/feature_arrays.hpp"
#include "workloads/reading/events/parse_rows.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/text/blanks.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr std::string_view one_roll = ",src,dst,time,ext_roll";
constexpr std::string_view two_rolls = ",src,dst,time,int_roll,ext_roll";
constexpr std::string_view label_header = ",node,time,label,ext_roll";
constexpr std::int64_t roll_parts = 3;

int probe_tgl(std::string_view head, std::string_view) {
  const std::string line = header_names(first_line(head));
  return line == one_roll || line == two_rolls ? 100 : 0;
}

std::size_t read_roll(const TextReader& reader, const Token& token) {
  const std::int64_t roll = reader.whole(token, "roll");
  if (roll >= roll_parts) reader.fail(token.column, fmt::format("the roll must be 0, 1 or 2, found {}", roll));
  return static_cast<std::size_t>(roll);
}

/// The label file in the folder of the edges, or "".
std::string label_file_tgl(const std::string& path) {
  for (const char* name : {"labels.csv", "labels.csv.gz"}) {
    const auto candidate = std::filesystem::path(path).parent_path() / name;
    if (input_exists(candidate.string())) return candidate.string();
  }
  return {};
}

/// The file called `name` in the folder of the edges, or "".
std::string beside_tgl(const std::string& path, const char* name) {
  const std::string file = (std::filesystem::path(path).parent_path() / name).string();
  return input_exists(file) ? file : "";
}

std::vector<std::string> companions_tgl(const std::string& path) {
  std::vector<std::string> files{label_file_tgl(path), beside_tgl(path, "edge_features.npy"),
                                 beside_tgl(path, "node_features.npy")};
  std::erase(files, "");
  return files;
}

/// A tensor without its .npy file gets a note, because features would be missed later. Whether it exists changes no
/// data.
void note_tensors(const std::string& path, Provenance& provenance) {
  for (const std::string name : {"edge_features", "node_features"}) {
    const auto stem = std::filesystem::path(path).parent_path() / name;
    std::error_code ignored;
    if (!std::filesystem::exists(stem.string() + ".pt", ignored) || !beside_tgl(path, (name + ".npy").c_str()).empty())
      continue;
    provenance.notes.push_back(fmt::format(
        "{}.pt is not read; save it as {}.npy in the same folder (numpy.save) to read these features", name, name));
  }
}

std::int32_t read_label(const TextReader& reader, const Token& token) {
  const double label = reader.real(token, "label");
  if (label != std::floor(label) || label < 0 || label > std::numeric_limits<std::int32_t>::max())
    reader.fail(token.column, fmt::format("label {} is not a whole number from 0 to 2^31 - 1", printable(token.text)));
  return static_cast<std::int32_t>(label);
}

/// Returns how many labels are of vertices without events.
std::int64_t add_labels(TextReader& reader, const EventGraph& graph, GrowingLabels& labels) {
  std::int64_t absent = 0;
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != 5)
      reader.fail(misplaced_column(reader.line(), fields, 5),
                  fmt::format("expected 5 columns, found {}", fields.size()));
    reader.whole(fields[0], "row number");
    const VertexId vertex = find_vertex(graph, reader.whole(fields[1], "node"));
    const double time = reader.seconds(fields[2]);
    const std::int32_t label = read_label(reader, fields[3]);
    read_roll(reader, fields[4]);
    absent += vertex < 0;
    if (vertex < 0) continue;
    labels.add(vertex, time, label, 1);
  }
  return absent;
}

void read_tgl_labels(const std::string& path, EventGraph& graph) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (header_names(reader.line()) != label_header) reader.fail(1, "expected the header " + std::string(label_header));
  std::atomic<std::int64_t> absent{0};
  GrowingLabels labels;
  PerPart<GrowingLabels> of_parts;
  parse_rows(
      reader, [&](std::size_t part, TextReader& lines) { absent += add_labels(lines, graph, of_parts[part]); },
      [&](std::size_t part) { labels.append(std::exchange(of_parts[part], {})); });
  graph.timed_labels = labels.finish();
  sort_by_time(graph.timed_labels);
  graph.provenance.notes.push_back(fmt::format("{}: {} labels; {} more are of vertices without events and left out",
                                               std::filesystem::path(path).filename().string(),
                                               graph.timed_labels.time.size(), absent.load()));
}

/// Returns how many events belong to each part of the training.
std::array<std::int64_t, roll_parts> add_rows(TextReader& reader, std::size_t columns, EventBuilder& events,
                                              bool with_features) {
  std::array<std::int64_t, roll_parts> sizes{};
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != columns)
      reader.fail(misplaced_column(reader.line(), fields, columns),
                  fmt::format("expected {} columns, found {}", columns, fields.size()));
    const std::int64_t number = reader.whole(fields[0], "row number");
    const std::int64_t source = reader.whole(fields[1], "source vertex id");
    const std::int64_t target = reader.whole(fields[2], "target vertex id");
    events.add(source, target, reader.seconds(fields[3]));
    if (with_features) add_feature_row(number, events);
    for (std::size_t i = 4; i + 1 < columns; ++i) read_roll(reader, fields[i]);
    ++sizes[read_roll(reader, fields.back())];
  }
  return sizes;
}

EventGraph read_tgl(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::string names = header_names(reader.line());
  if (names != one_roll && names != two_rolls) reader.fail(1, "expected the header ,src,dst,time,[int_roll,]ext_roll");
  const std::size_t columns = reader.split_commas().size();
  EventBuilder events;
  std::array<std::atomic<std::int64_t>, roll_parts> sizes{};
  const std::string edge_file = beside_tgl(path, "edge_features.npy");
  parse_rows(reader, events, [&](TextReader& lines, EventBuilder& rows) {
    const auto added = add_rows(lines, columns, rows, !edge_file.empty());
    for (std::size_t i = 0; i < added.size(); ++i) sizes[i] += added[i];
  });
  EventGraph graph = events.finish(path, "tgl");
  graph.provenance.notes.push_back(fmt::format("ext_roll: {} train, {} validation, {} test events", sizes[0].load(),
                                               sizes[1].load(), sizes[2].load()));
  if (!edge_file.empty()) {
    const std::vector<std::int64_t> shape = take_edge_features(edge_file, "the row number", graph).shape;
    graph.provenance.notes.push_back(
        fmt::format("edge_features.npy has {} rows of {} features, taken by the row number", shape[0], shape[1]));
  }
  const std::string labels = label_file_tgl(path), vertex_file = beside_tgl(path, "node_features.npy");
  if (!labels.empty()) read_tgl_labels(labels, graph);
  if (!vertex_file.empty()) add_vertex_features(vertex_file, graph);
  note_tensors(path, graph.provenance);
  return graph;
}

const Register<FormatTag> tgl_registered{
    {"tgl",
     "TGL edges.csv: ,src,dst,time,[int_roll,]ext_roll, with labels.csv in the same folder",
     "Zhou et al., TGL: A General Framework for Temporal GNN Training on "
     "Billion-Scale Graphs, VLDB 2022",
     {},
     {probe_tgl, read_tgl, nullptr, companions_tgl},
     {}}};

}  // namespace
}  // namespace strobe
