// T-GCN's pair of csv files, NAME_adj.csv and NAME_speed.csv (either may be gzip, either may be named):
//   adj    N rows of N weights without header; row i, column j weighs what vertex i reads of vertex j
//   speed  a header of N sensor names, then a row of N values per step
// Returns one snapshot of the non-zero weights, shared by all steps. Features are the values of the step; the target of
// a step is the value one step later. T-GCN divides speeds by their maximum before training; that is not done here.
// Cost: one pass over each file.
// Source: Zhao et al., T-GCN: A Temporal Graph Convolutional Network for Traffic Prediction, IEEE T-ITS 2020;
// github.com/lehaifeng/T-GCN, data/.
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/graph/snapshot_file.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::string_view adjacency_end = "_adj.csv", speed_end = "_speed.csv";

int probe_tgcn(std::string_view head, std::string_view name) {
  if (!has_suffix(name, adjacency_end) && !has_suffix(name, speed_end)) return 0;
  return first_line(head).find(',') == std::string_view::npos ? 0 : 90;
}

/// The file of the pair that ends in `end`: `path` itself or its neighbour in the folder. Throws when it is not there.
std::string file_of_pair(const std::string& path, std::string_view end) {
  if (has_suffix(path, end)) return path;
  for (const std::string_view other : {adjacency_end, speed_end}) {
    const std::size_t at = path.rfind(other);
    if (at == std::string::npos || !has_suffix(path, other)) continue;
    for (const char* packed : {"", ".gz"}) {
      const std::string file = path.substr(0, at) + std::string(end) + packed;
      if (input_exists(file)) return file;
    }
    throw InvalidInput(path, 0, 0, fmt::format("the file that ends in {} is missing in the same folder", end));
  }
  throw InvalidInput(path, 0, 0, "a T-GCN file is called NAME_adj.csv or NAME_speed.csv");
}

std::vector<std::string> companions_tgcn(const std::string& path) {
  const std::string adjacency = file_of_pair(path, adjacency_end);
  return {path == adjacency ? file_of_pair(path, speed_end) : adjacency};
}

/// Fields of the current line. Throws unless there are `expected` of them (0 = any number).
const std::vector<Token>& split_row(TextReader& reader, std::size_t expected) {
  const auto& fields = reader.split_commas();
  if (expected != 0 && fields.size() != expected)
    reader.fail(misplaced_column(reader.line(), fields, expected),
                fmt::format("expected {} columns, found {}", expected, fields.size()));
  return fields;
}

GrowingColumn<SnapshotEdge> read_adjacency(const std::string& path, std::int64_t& vertices) {
  TextReader reader(path);
  GrowingColumn<SnapshotEdge> edges;
  std::size_t columns = 0, row = 0;
  for (; reader.next(); ++row) {
    const auto& fields = split_row(reader, columns);
    columns = fields.size();
    if (row == columns) reader.fail(1, fmt::format("the matrix has {} columns, this is row {}", columns, row + 1));
    for (std::size_t column = 0; column < columns; ++column) {
      const double weight = reader.weight(fields[column]);
      if (weight != 0) edges.push_back({static_cast<VertexId>(column), static_cast<VertexId>(row), weight});
    }
  }
  if (row == 0) reader.fail_file("the file is empty");
  if (row != columns) reader.fail_file(fmt::format("the matrix has {} columns, but only {} rows", columns, row));
  vertices = static_cast<std::int64_t>(columns);
  return edges;
}

/// Values [steps, vertices], and the sensors' names.
Column<double> read_speed(const std::string& path, std::int64_t vertices, std::vector<std::string>& sensors) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  const std::size_t columns = vertices;
  std::set<std::string> names;
  for (const Token& token : split_row(reader, columns)) {
    if (!names.emplace(token.text).second)
      reader.fail(token.column, fmt::format("the sensor '{}' is there twice", printable(token.text)));
    sensors.emplace_back(token.text);
  }
  GrowingColumn<double> values;
  while (reader.next()) {
    for (const Token& token : split_row(reader, columns)) values.push_back(reader.within_single(token, "value"));
  }
  if (values.empty()) reader.fail_file("the file has no steps");
  return values.finish();
}

SnapshotGraph read_tgcn(const std::string& path) {
  const std::string adjacency = file_of_pair(path, adjacency_end), speed = file_of_pair(path, speed_end);
  SnapshotGraph graph;
  describe_file(path, "tgcn", graph.provenance);
  const GrowingColumn<SnapshotEdge> edges = read_adjacency(adjacency, graph.vertices);
  std::vector<std::string> sensors;
  Column<double> series = read_speed(speed, graph.vertices, sensors);
  graph.vertex_name = sensors;
  graph.targets = next_step_targets(series, graph.vertices);
  auto [rounded, exact] = both_precisions(std::move(series));
  graph.features = std::move(rounded);
  graph.exact_features = std::move(exact);
  graph.feature_width = 1;
  const std::size_t steps = graph.features.size() / static_cast<std::size_t>(graph.vertices);
  const auto snapshot = make_snapshot(graph.vertices, edges, graph.provenance);
  graph.snapshots.assign(steps, snapshot);
  for (std::size_t t = 0; t < steps; ++t) {
    graph.step_begin.push_back(static_cast<double>(t));
    graph.step_end.push_back(static_cast<double>(t + 1));
  }
  const std::string& other = path == adjacency ? speed : adjacency;
  graph.provenance.notes = {
      fmt::format("read together with {} (sha256 {})", std::filesystem::path(other).filename().string(),
                  sha256_file(other)),
      fmt::format("the graph is static: each of the {1} steps has the same {0} edges", snapshot->nonzeros(), steps),
      "features are the file's values at the step, targets those of the next step; nothing is standardised"};
  return graph;
}

const Register<FormatTag> tgcn_registered{
    {"tgcn",
     "T-GCN's csv pair: NAME_adj.csv (weights) and NAME_speed.csv (values per step)",
     "Zhao et al., T-GCN: A Temporal Graph Convolutional Network for Traffic "
     "Prediction, IEEE T-ITS 2020",
     {},
     {probe_tgcn, nullptr, read_tgcn, companions_tgcn},
     {}}};

}  // namespace
}  // namespace strobe
