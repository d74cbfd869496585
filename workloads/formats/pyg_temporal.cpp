// Data sets of PyTorch Geometric Temporal (json). Four shapes, told apart by their keys:
//   static edges    {edges, weights?, FX | X | block: [T][N]}  or, instead of the series, {"0": {y: [N]}, ...}
//   edge mapping    {edge_mapping: {edge_index: {"0": [[u, v] ...] ...}, edge_weight}, time_periods, y: [T][N]}
//   step by step    {"0": {edges, weights, X: [N] or [N][F], y: [N]}, ..., time_periods}
//   node-link       {nodes: [{id, y: [T], X: {name: [T]}}], links: [{source, target, weight}]}
// Returns one snapshot per step with the file's weights (1 without). The features of step t are its values. The target
// of step t is the value of y (or of the only series) at t + 1, the loaders' own offset. Values are the file's, without
// the loaders' standardisation, lags and one-hot features. There is one exception: the Twitter tennis files, which are
// step-by-step files with node_ids. Their targets are counts of mentions over four decades, and models predict log(1 +
// y), as with their loader. Steps of a static graph share one snapshot.
// Cost: one pass over the text, 40 bytes a value while reading.
// Source: Rozemberczki et al., PyTorch Geometric Temporal, CIKM 2021; torch_geometric_temporal/dataset/.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "core/errors.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/graph/snapshot_file.hpp"
#include "workloads/graph/step_shelf.hpp"
#include "workloads/reading/text/json_tree.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::int64_t most_vertices = std::numeric_limits<VertexId>::max();

int probe_pyg_temporal(std::string_view head, std::string_view) {
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head[begin] != '{') return 0;
  const auto has = [&](const char* key) { return head.find(key) != std::string_view::npos; };
  if (has("\"edge_mapping\"") || (has("\"nodes\"") && has("\"bus_stop\""))) return 90;
  if (has("\"edges\"")) return 80;
  return has("\"directed\"") && has("\"nodes\"") ? 70 : 0;
}

/// Values [rows, columns] of a series as the file nests them.
struct Series {
  std::int64_t rows = 0, columns = 0;
  Column<double> values;
};

void append_numbers(const JsonValue& row, const char* what, GrowingColumn<double>& values) {
  for (const JsonValue& value : row.children()) values.push_back(value.within_single(what));
}

Series read_series(const JsonValue& table, const char* what) {
  Series series;
  GrowingColumn<double> values;
  for (const JsonValue& row : table.array(what).children()) {
    if (series.rows == 0) series.columns = static_cast<std::int64_t>(row.array("a step").size());
    append_numbers(row.array("a step", static_cast<std::size_t>(series.columns)), "a value", values);
    ++series.rows;
  }
  series.values = values.finish();
  if (series.values.empty()) table.fail(fmt::format("{} is empty", what));
  return series;
}

GrowingColumn<SnapshotEdge> read_edges(const JsonValue& list, const std::optional<JsonValue>& weights,
                                       std::int64_t vertices) {
  GrowingColumn<SnapshotEdge> edges;
  for (const JsonValue& pair : list.array("the edge list").children()) {
    const JsonChildren ends = pair.array("an edge", 2).children();
    const JsonValue source = *ends.begin(), target = *++ends.begin();
    edges.push_back({static_cast<VertexId>(source.below(vertices, "source vertex id")),
                     static_cast<VertexId>(target.below(vertices, "target vertex id")), 1});
  }
  if (!weights) return edges;
  std::size_t e = 0;
  for (const JsonValue& weight : weights->array("the list of weights", edges.size()).children())
    edges[e++].weight = weight.within_single("weight");
  return edges;
}

std::optional<JsonValue> optional_member(const JsonValue& object, const char* name) {
  if (!object.has(name)) return std::nullopt;
  return object.at(name, name);
}

/// The members "0" ... "steps - 1" of an object in this order; `what` names them. Other members are left alone.
std::vector<JsonValue> members_by_step(const JsonValue& object, std::int64_t steps, const char* what) {
  std::vector<std::optional<JsonValue>> found(steps);
  for (const JsonValue& member : object.object(what).children()) {
    const std::string key(member.key());
    std::int64_t step = -1;
    const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), step);
    if (error != std::errc() || stop != key.data() + key.size()) continue;
    if (step < 0 || step >= steps || std::to_string(step) != key)
      member.fail(fmt::format("{} has a step '{}', but there are {} steps", what, key.substr(0, 40), steps));
    found[step] = member;
  }
  std::vector<JsonValue> result;
  for (std::size_t t = 0; t < found.size(); ++t) {
    if (!found[t]) object.fail(fmt::format("{} has no step {}", what, t));
    result.push_back(*found[t]);
  }
  return result;
}

/// time_periods, which cannot exceed the members or rows that the file has.
std::int64_t read_steps(const JsonValue& root, std::size_t available) {
  const JsonValue value = root.at("time_periods", "the file");
  const std::int64_t steps = value.below(most_vertices, "time_periods");
  if (steps == 0 || static_cast<std::size_t>(steps) > available)
    value.fail(fmt::format("time_periods is {}, but the file has {} steps", steps, available));
  return steps;
}

void finish_steps(SnapshotGraph& graph, const Series& features, const Series& targets) {
  graph.feature_width = static_cast<std::int64_t>(features.values.size()) / (graph.steps() * graph.vertices);
  auto [rounded, exact] = both_precisions(features.values);
  graph.features = std::move(rounded);
  graph.exact_features = std::move(exact);
  graph.targets = next_step_targets(targets.values, graph.vertices);
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    graph.step_begin.push_back(static_cast<double>(t));
    graph.step_end.push_back(static_cast<double>(t + 1));
  }
}

void make_static(const GrowingColumn<SnapshotEdge>& edges, std::int64_t steps, SnapshotGraph& graph) {
  const auto snapshot = make_snapshot(graph.vertices, edges, graph.provenance);
  graph.snapshots.assign(steps, snapshot);
  graph.provenance.notes.push_back(
      fmt::format("the graph is static: each of the {1} steps has the same {0} edges", snapshot->nonzeros(), steps));
}

Series y_of_steps(const std::vector<JsonValue>& steps) {
  Series series;
  GrowingColumn<double> values;
  for (const JsonValue& step : steps) {
    const JsonValue y = step.at("y", "a step");
    if (series.rows == 0) series.columns = static_cast<std::int64_t>(y.array("y").size());
    append_numbers(y.array("y", static_cast<std::size_t>(series.columns)), "a value of y", values);
    ++series.rows;
  }
  series.values = values.finish();
  if (series.values.empty()) steps.front().fail("y is empty");
  return series;
}

void read_static(const JsonValue& root, SnapshotGraph& graph) {
  Series series;
  for (const char* name : {"FX", "X", "block"}) {
    if (series.rows == 0 && root.has(name)) series = read_series(root.at(name, "the file"), name);
  }
  if (series.rows == 0) {
    if (!root.has("time_periods")) root.fail("the file has edges but no series: FX, X, block or steps with y");
    series = y_of_steps(members_by_step(root, read_steps(root, root.size()), "the file"));
  }
  graph.vertices = series.columns;
  make_static(read_edges(root.at("edges", "the file"), optional_member(root, "weights"), graph.vertices), series.rows,
              graph);
  finish_steps(graph, series, series);
}

void read_mapping(const JsonValue& root, SnapshotGraph& graph) {
  const JsonValue mapping = root.at("edge_mapping", "the file");
  const JsonValue index = mapping.at("edge_index", "edge_mapping");
  const JsonValue y = root.at("y", "the file");
  const Series series = read_series(y, "y");
  const std::int64_t steps = read_steps(root, index.object("edge_index").size());
  y.array("y", static_cast<std::size_t>(steps));
  graph.vertices = series.columns;
  const std::vector<JsonValue> edges = members_by_step(index, steps, "edge_index");
  std::vector<JsonValue> weights;
  if (mapping.has("edge_weight"))
    weights = members_by_step(mapping.at("edge_weight", "edge_mapping"), steps, "edge_weight");
  StepShelf shelf;
  for (std::size_t t = 0; t < edges.size(); ++t) {
    const auto weight = weights.empty() ? std::nullopt : std::optional(weights[t]);
    graph.snapshots.push_back(
        shelf.keep(make_snapshot(graph.vertices, read_edges(edges[t], weight, graph.vertices), graph.provenance)));
  }
  finish_steps(graph, series, series);
}

/// X of the steps: [N] or [N][F] in each.
Series x_of_steps(const std::vector<JsonValue>& steps, std::int64_t vertices) {
  Series series;
  GrowingColumn<double> values;
  for (const JsonValue& step : steps) {
    for (const JsonValue& row : step.at("X", "a step").array("X", static_cast<std::size_t>(vertices)).children()) {
      const bool single = row.kind() == JsonKind::number;
      const auto width = static_cast<std::int64_t>(single ? 1 : row.array("a row of X").size());
      if (series.columns == 0) series.columns = width;
      if (width != series.columns || width == 0)
        row.fail(fmt::format("a row of X has {} values, the rows before have {}", width, series.columns));
      if (single)
        values.push_back(row.within_single("a value of X"));
      else
        append_numbers(row, "a value of X", values);
    }
  }
  series.values = values.finish();
  return series;
}

void read_step_by_step(const JsonValue& root, SnapshotGraph& graph) {
  const std::vector<JsonValue> steps = members_by_step(root, read_steps(root, root.size()), "the file");
  const Series y = y_of_steps(steps);
  graph.vertices = y.columns;
  StepShelf shelf;
  for (const JsonValue& step : steps) {
    const GrowingColumn<SnapshotEdge> edges =
        read_edges(step.at("edges", "a step"), optional_member(step, "weights"), graph.vertices);
    graph.snapshots.push_back(shelf.keep(make_snapshot(graph.vertices, edges, graph.provenance)));
  }
  finish_steps(graph, steps.front().has("X") ? x_of_steps(steps, graph.vertices) : y, y);
  if (!root.has("node_ids")) return;
  GrowingColumn<float> targets;
  targets.reserve(graph.targets.size());
  for (const float value : graph.targets) targets.push_back(std::log1p(value));
  graph.targets = targets.finish();
  graph.provenance.notes.push_back("targets are log(1 + y), as the loader of this data set makes them");
}

/// Names of vertices that the file numbers: {"node_ids": {NAME: number}}; others have none.
void read_names(const JsonValue& root, SnapshotGraph& graph) {
  if (!root.has("node_ids")) return;
  const JsonValue names = root.at("node_ids", "the file");
  if (names.kind() != JsonKind::object) return;
  std::vector<std::string> of_vertex(static_cast<std::size_t>(graph.vertices));
  for (const JsonValue& name : names.children()) {
    const double number = name.kind() == JsonKind::number ? name.within_single("the number of a node") : -1;
    if (number < 0 || number >= static_cast<double>(graph.vertices)) {
      graph.provenance.notes.push_back(fmt::format("node_ids is left out, because '{}' is not a vertex", name.key()));
      return;
    }
    of_vertex[static_cast<std::size_t>(number)] = std::string(name.key());
  }
  graph.vertex_name = of_vertex;
}

/// Numbers of the nodes by id. The id is the member `id`, or without it `bus_stop`.
std::unordered_map<std::string, VertexId> number_nodes(const std::vector<JsonValue>& nodes) {
  std::unordered_map<std::string, VertexId> number;
  for (const JsonValue& node : nodes) {
    const JsonValue id = node.has("id") ? node.at("id", "a node") : node.at("bus_stop", "a node");
    const std::string name = id.name("the id of a node");
    if (!number.emplace(name, static_cast<VertexId>(number.size())).second)
      id.fail(fmt::format("node '{}' is listed twice", name.substr(0, 40)));
  }
  return number;
}

GrowingColumn<SnapshotEdge> read_links(const JsonValue& links,
                                       const std::unordered_map<std::string, VertexId>& number) {
  const auto find = [&](const JsonValue& link, const char* end) {
    const JsonValue id = link.at(end, "a link");
    const auto at = number.find(id.name("the end of a link"));
    if (at == number.end()) id.fail("a link names a node that is not listed");
    return at->second;
  };
  GrowingColumn<SnapshotEdge> edges;
  for (const JsonValue& link : links.array("links").children()) {
    const double weight = link.has("weight") ? link.at("weight", "a link").within_single("weight") : 1.0;
    edges.push_back({find(link, "source"), find(link, "target"), weight});
  }
  return edges;
}

/// The series of all nodes, which the file holds node by node, as [T, N, series of a node].
Series by_step(const GrowingColumn<double>& of_nodes, std::size_t nodes, std::size_t steps) {
  const std::size_t of_node = of_nodes.size() / nodes;
  GrowingColumn<double> values;
  values.reserve(of_nodes.size());
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t i = t; i < of_node; i += steps) values.push_back(of_nodes[node * of_node + i]);
  }
  return {static_cast<std::int64_t>(steps), 0, values.finish()};
}

void read_node_link(const JsonValue& root, SnapshotGraph& graph) {
  const std::vector<JsonValue> nodes = root.at("nodes", "the file").array("nodes").children().list();
  if (nodes.empty()) root.fail("nodes is empty");
  graph.vertices = static_cast<std::int64_t>(nodes.size());
  const auto number = number_nodes(nodes);
  std::vector<std::string> of_vertex(nodes.size());
  for (const auto& [name, vertex] : number) of_vertex[vertex] = name;
  graph.vertex_name = of_vertex;
  GrowingColumn<double> y, x;
  std::vector<std::string> names;
  std::size_t steps = 0;
  for (const JsonValue& node : nodes) {
    const JsonValue series = node.at("y", "a node");
    if (y.empty()) steps = series.array("y").size();
    append_numbers(series.array("y", steps), "a value of y", y);
    if (steps == 0) series.fail("y is empty");
    const std::vector<JsonValue> variables =
        node.has("X") ? node.at("X", "a node").object("X").children().list() : std::vector<JsonValue>{series};
    if (x.empty()) {
      for (const JsonValue& variable : variables) names.emplace_back(variable.key());
    }
    const bool same =
        std::equal(variables.begin(), variables.end(), names.begin(), names.end(),
                   [](const JsonValue& variable, const std::string& name) { return variable.key() == name; });
    if (!same || names.empty()) node.fail("the series in X of a node are not those of the first node");
    for (const JsonValue& variable : variables) append_numbers(variable.array("a series", steps), "a value", x);
  }
  make_static(read_links(root.at("links", "the file"), number), static_cast<std::int64_t>(steps), graph);
  finish_steps(graph, by_step(x, nodes.size(), steps), by_step(y, nodes.size(), steps));
}

SnapshotGraph read_pyg_temporal(const std::string& path) {
  const JsonTree tree(path);
  const JsonValue root = tree.root();
  root.object("the file");
  SnapshotGraph graph;
  describe_file(path, "pyg-temporal", graph.provenance);
  if (root.has("edge_mapping"))
    read_mapping(root, graph);
  else if (root.has("nodes"))
    read_node_link(root, graph);
  else if (root.has("edges"))
    read_static(root, graph);
  else
    read_step_by_step(root, graph);
  if (!root.has("nodes")) read_names(root, graph);
  graph.provenance.notes.push_back(
      "features are the file's values at the step, targets those of the next step; nothing is standardised");
  return graph;
}

const Register<FormatTag> pyg_temporal_registered{
    {"pyg-temporal",
     "PyTorch Geometric Temporal json: steps with node values and targets",
     "Rozemberczki et al., PyTorch Geometric Temporal, CIKM 2021",
     {},
     {probe_pyg_temporal, nullptr, read_pyg_temporal},
     {}}};

}  // namespace
}  // namespace strobe
