// Reads one input as a file of one format.
// Some formats read a second file next to the first, and get it from the same input: a line "=====" ends a file, and
// the next one begins after it. The next input overwrites the files, so nothing is left of a longer one.
// Binary graphs have checksums that random bytes never match. There the input changes bytes of a valid file. Inputs
// that begin with "sealed-" compute the checksums again, so the numbers reach the reader unchecked by any sum.
#include "fuzz/fuzz_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "fuzz/folder.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/graph/snapshot_file.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/reading/text/npy.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::string_view separator = "\n=====\n";
constexpr std::string_view sealed_prefix = "sealed-";  // before a format of Strobe's own: its files with their seal

/// The names that a format looks for, the main file first.
const std::vector<std::string>& file_names(const std::string& format) {
  static const std::vector<std::string> plain = {"input"};
  static const std::map<std::string, std::vector<std::string>> with_companions = {
      {"amlsim", {"tx.csv", "nodes.csv"}},
      {"amlsim-dated", {"transactions.csv", "accounts.csv", "sar_accounts.csv"}},
      {"elliptic", {"elliptic_edgelist.csv", "elliptic_features.csv", "elliptic_classes.csv"}},
      {"movielens", {"ratings.csv", "movies.csv"}},
      {"tgb", {"x_edgelist.csv", "x_node_labels.csv"}},
      {"tgcn", {"x_adj.csv", "x_speed.csv"}},
      {"tgl", {"edges.csv", "labels.csv", "edge_features.npy", "node_features.npy"}},
      {"tgn", {"ml_x.csv", "ml_x.npy", "ml_x_node.npy"}},
  };
  const auto at = with_companions.find(format);
  return at == with_companions.end() ? plain : at->second;
}

std::string bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// The bytes of a small binary graph that has every section, packed times among them.
const std::string& valid_binary(const std::filesystem::path& folder) {
  static const std::string bytes = [&] {
    EventGraph graph;
    graph.vertices = 2;
    constexpr std::size_t events = 16;  // the fewest times that are packed are about ten
    graph.source = std::vector<VertexId>(events, 0);
    graph.target = std::vector<VertexId>(events, 1);
    graph.time = PackedTimes::pack(events, [](std::size_t first, std::span<double> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = 0.5 * static_cast<double>(first + i);
    });
    graph.weight = std::vector<float>(events, -2);
    graph.original_id = {4, 7};
    graph.vertex_label = {0, 1};
    graph.event_label = std::vector<std::int8_t>(events, 1);
    graph.edge_feature_width = graph.vertex_feature_width = 1;
    graph.edge_features = std::vector<float>(events, 5);
    graph.vertex_features = {7, 8};
    graph.timed_labels = {{0}, {2}, {1}, {1}};
    const std::string file = (folder / "valid").string();
    write_binary_graph(graph, file);
    return bytes_of(file);
  }();
  return bytes;
}

/// The bytes of small binary snapshots that have every section.
const std::string& valid_snapshots(const std::filesystem::path& folder) {
  static const std::string bytes = [&] {
    SnapshotGraph graph;
    graph.vertices = 2;
    const auto first = std::make_shared<const Snapshot>(Snapshot{{0, 2, 3}, {0, 1, 1}, {1, 2, 0.5f}});
    graph.snapshots = {first, std::make_shared<const Snapshot>(Snapshot{{0, 0, 0}, {}, {}}), first};
    graph.feature_width = 1;
    graph.features = {1, 2, 3, 4, 5, 6};
    graph.step_begin = {0, 1, 2};
    graph.vertex_label = {0, 1};
    graph.cell_label = {0, 1, -1, 0, 1, 1};
    graph.targets = {1, 2, 3, 4, 5, 6};
    const std::string file = (folder / "valid").string();
    write_binary_snapshots(graph, file);
    return bytes_of(file);
  }();
  return bytes;
}

constexpr std::size_t digest_at = 48;

/// A binary file whose bytes are changed as the input says, three bytes a change: place and value. Size and digest of
/// the beginning are made right again, as no change would get past them.
std::string changed_binary(std::string bytes, std::string_view input) {
  constexpr std::size_t description_at = 16, size_at = 24, header_bytes = 128;
  for (std::size_t i = 0; i + 2 < input.size(); i += 3) {
    const auto at =
        static_cast<std::size_t>(static_cast<unsigned char>(input[i])) * 256 + static_cast<unsigned char>(input[i + 1]);
    bytes[at % bytes.size()] = input[i + 2];
  }
  std::uint64_t description = 0;
  const std::uint64_t size = bytes.size();
  std::memcpy(&description, bytes.data() + description_at, sizeof(description));
  std::memcpy(bytes.data() + size_at, &size, sizeof(size));
  std::string head = bytes.substr(0, header_bytes);
  std::fill_n(head.begin() + digest_at, 64, '\0');
  bytes.replace(digest_at, 64, sha256_hex(head + bytes.substr(header_bytes, description)));
  return bytes;
}

/// The seal of a file as it is, which its owner could write: it keeps the checksums of the sections from being looked
/// at, so that changed numbers reach what uses them.
void seal(const std::filesystem::path& file, const std::string& bytes) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) std::abort();
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  std::ofstream(file.string() + ".seal", std::ios::binary)
      << "strobe seal 2\n"
      << status.st_ino << ' ' << nanoseconds(status.st_mtim) << ' ' << nanoseconds(status.st_ctim) << ' '
      << bytes.substr(digest_at, 64) << '\n';
}

/// Writes the parts of the input; returns the path of the main file.
std::string write_input(const std::string& reader, std::string_view input) {
  static const FuzzFolder folder;
  const bool sealed = reader.starts_with(sealed_prefix);
  const std::string format = sealed ? reader.substr(sealed_prefix.size()) : reader;
  const bool events = format == "strobe-binary", steps = format == "strobe-snapshots";
  if ((events || steps) && input.substr(0, 6) != "STROBE") {
    const auto file = folder.path / "input";
    const std::string& valid = events ? valid_binary(folder.path) : valid_snapshots(folder.path);
    const std::string changed = changed_binary(valid, input);
    std::ofstream(file, std::ios::binary) << changed;
    if (sealed) seal(file, changed);
    return file.string();
  }
  const std::vector<std::string>& names = file_names(format);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t end = i + 1 < names.size() ? input.find(separator) : std::string_view::npos;
    const auto file = folder.path / names[i];
    if (i > 0 && input.empty())
      std::filesystem::remove(file);
    else
      std::ofstream(file, std::ios::binary) << input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + separator.size());
  }
  return (folder.path / names.front()).string();
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "invariant broken: " << what << '\n';
  std::abort();
}

void check_events(const EventGraph& graph) {
  const auto events = static_cast<std::size_t>(graph.events()), vertices = static_cast<std::size_t>(graph.vertices);
  require(events > 0 && graph.target.size() == events && graph.time.size() == events, "columns have one length");
  require(graph.weight.empty() || graph.weight.size() == events, "a weight for every event or none");
  require(graph.event_label.empty() || graph.event_label.size() == events, "a label for every event or none");
  require(graph.original_id.size() == vertices, "an original id for every vertex");
  const bool generated = graph.edge_feature_source.width > 0;  // made on demand, not stored
  require(graph.edge_features.size() == (generated ? 0 : events * static_cast<std::size_t>(graph.edge_feature_width)),
          "event features");
  require(graph.vertex_features.size() == vertices * static_cast<std::size_t>(graph.vertex_feature_width),
          "vertex features");
  for (std::size_t e = 0; e < events; ++e) {
    require(graph.source[e] >= 0 && graph.source[e] < graph.vertices, "a source is a vertex");
    require(graph.target[e] >= 0 && graph.target[e] < graph.vertices, "a target is a vertex");
    require(std::isfinite(graph.time[e]) && (e == 0 || graph.time[e - 1] <= graph.time[e]), "times are sorted");
  }
  for (const VertexId v : graph.timed_labels.vertex) require(v >= 0 && v < graph.vertices, "a labelled vertex is one");
}

void check_snapshots(const SnapshotGraph& graph) {
  const std::size_t cells = graph.steps() * graph.vertices;
  require(graph.features.size() == cells * static_cast<std::size_t>(graph.feature_width), "features of every cell");
  require(graph.targets.empty() || graph.targets.size() == cells, "targets of every cell or none");
  for (const auto& snapshot : graph.snapshots) {
    require(snapshot->row_offsets.size() == static_cast<std::size_t>(graph.vertices) + 1, "an offset for every row");
    require(snapshot->row_offsets.back() == snapshot->nonzeros(), "offsets end at the non-zeros");
    for (const VertexId u : snapshot->columns) require(u >= 0 && u < graph.vertices, "a column is a vertex");
  }
}

void read_all(const std::string& format, const std::string& path) {
  if (format == "npy") {
    const NpyArray array = read_npy(path);
    for (std::int64_t i = 0; i < array.size(); ++i) static_cast<void>(array.at(i));
    return;
  }
  const std::string name = format.starts_with(sealed_prefix) ? format.substr(sealed_prefix.size()) : format;
  const FormatTag::Value& reader = FormatRegistry::instance().find(name).value;
  if (reader.read_snapshots != nullptr) {
    SnapshotGraph graph = reader.read_snapshots(path);
    check_snapshots(graph);
    FileOptions options;
    options.orientation = "both";
    apply_options(options, graph);
    check_snapshots(graph);
    return;
  }
  EventGraph graph = reader.read(path);
  check_events(graph);
  EventGraph apart = graph;
  settle_ids(apart, graph.provenance.ids == "offset" ? "auto" : "offset", path);
  check_events(apart);
  StepCut kept;
  SnapshotGraph steps = make_snapshots(graph, {.count = graph.time.front() == graph.time.back() ? 1 : 3}, "in", kept);
  set_cell_labels(graph, kept, "auto", steps);
  check_snapshots(steps);
}

}  // namespace

void fuzz_reader(const std::string& format, const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const auto& [name, entry] : FormatRegistry::instance().entries())
    static_cast<void>(entry.value.probe(input.substr(0, 65536), "x_adj.csv"));
  try {
    read_all(format, write_input(format, input));
  } catch (const Error&) {
    return;
  }
}

}  // namespace strobe
