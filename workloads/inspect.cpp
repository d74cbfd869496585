// Statistics of a workload for `strobe inspect`.
// Degrees summed over steps come from the degree features, which count every event of a step with multiplicity;
// everything else is the graph's shape. Cost: that of `measure_shape` and O(T N) beside loading.
#include "workloads/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace strobe {
namespace {

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Exact quantiles of a list with one value per step.
Json spread_of(std::vector<std::int64_t> values) {
  Json spread = Json::object();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  for (const auto& [name, share] : {std::pair{"min", 0.0},
                                    {"p25", 0.25},
                                    {"median", 0.5},
                                    {"p75", 0.75},
                                    {"p90", 0.9},
                                    {"p95", 0.95},
                                    {"p99", 0.99},
                                    {"max", 1.0}})
    spread[name] = at(share);
  const auto sum = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  spread["mean"] = static_cast<double>(sum) / static_cast<double>(values.size());
  return spread;
}

template <class Values>
Histogram histogram_of(const Values& values) {
  HistogramBuilder builder;
  for (const auto value : values) builder.add(static_cast<std::int64_t>(value));
  return builder.finish();
}

/// How many labels are 1; null without labels.
template <class Labels>
Json count_ones(const Labels& labels) {
  if (labels.empty()) return nullptr;
  return std::count(labels.begin(), labels.end(), std::int8_t{1});
}

void describe_events(const EventGraph& events, Json& report) {
  report["events"] = events.events();
  report["first_time"] = events.events() > 0 ? Json(events.time.front()) : Json(nullptr);
  report["last_time"] = events.events() > 0 ? Json(events.time.back()) : Json(nullptr);
  report["time_unit"] = events.stepped ? "steps" : "seconds";
  report["self_loops"] = events.provenance.self_loops;
  report["duplicates"] = events.provenance.duplicates;
  report["was_sorted"] = events.provenance.was_sorted;
  report["weighted"] = !events.weight.empty();
  report["edge_feature_width"] = events.edge_feature_width;
  report["labelled_events"] = count_ones(events.event_label);
  report["labelled_vertices"] = count_ones(events.vertex_label);
  report["timed_labels"] = events.timed_labels.time.size();
  report["vertex_feature_width"] = events.vertex_feature_width;
}

/// In- and out-degree of a step by vertex: the features where they are degrees, else the edges of the snapshot.
std::vector<std::array<double, 2>> degrees_of_step(const SnapshotGraph& graph, std::size_t t, bool in_features) {
  const auto vertices = static_cast<std::size_t>(graph.vertices);
  std::vector<std::array<double, 2>> degrees(vertices, {0.0, 0.0});
  if (in_features) {
    const float* features = graph.features.data() + t * vertices * 2;
    for (std::size_t v = 0; v < vertices; ++v)
      degrees[v] = {static_cast<double>(features[2 * v]), static_cast<double>(features[2 * v + 1])};
    return degrees;
  }
  const Snapshot& snapshot = *graph.snapshots[t];
  for (std::size_t v = 0; v < vertices; ++v)
    degrees[v][0] = static_cast<double>(snapshot.row_offsets[v + 1] - snapshot.row_offsets[v]);
  for (const VertexId u : snapshot.columns) degrees[static_cast<std::size_t>(u)][1] += 1;
  return degrees;
}

/// Degrees of vertices summed over steps. Returns the events that the steps hold, counted by their targets.
double describe_degrees(const SnapshotGraph& graph, bool in_features, Json& report) {
  const auto vertices = static_cast<std::size_t>(graph.vertices);
  std::vector<double> in(vertices, 0.0), out(vertices, 0.0);
  double events = 0;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const std::vector<std::array<double, 2>> degrees = degrees_of_step(graph, t, in_features);
    for (std::size_t v = 0; v < vertices; ++v) {
      in[v] += degrees[v][0];
      out[v] += degrees[v][1];
      events += degrees[v][0];
    }
  }
  report["in_degree"] = to_json(histogram_of(in));
  report["out_degree"] = to_json(histogram_of(out));
  return events;
}

/// A file of steps: its rows stand for events, step numbers for times.
void describe_snapshot_file(const SnapshotGraph& graph, Json& report) {
  report["events"] = graph.provenance.rows;
  report["first_time"] = 0;
  report["last_time"] = graph.steps() - 1;
  report["time_unit"] = "steps";
  report["self_loops"] = graph.provenance.self_loops;
  report["duplicates"] = graph.provenance.duplicates;
  report["feature_width"] = graph.feature_width;
  report["targets"] =
      std::count_if(graph.targets.begin(), graph.targets.end(), [](float value) { return !std::isnan(value); });
}

/// Statistics over steps, from the shape; the names are the shape's where both have a quantity.
void describe_steps(const SnapshotGraph& graph, const GraphShape& shape, bool degree_features, Json& report) {
  report["steps"] = graph.steps();
  report["empty_steps"] = std::count(shape.edges_per_step.begin(), shape.edges_per_step.end(), 0);
  report["repeats"] = graph.repeats.empty() ? Json(nullptr) : Json(graph.repeats);
  report["edges"] = graph.edges();
  const double held = describe_degrees(graph, degree_features, report);
  // Overlapping steps hold an event more than once, and both orientations make two edges of it.
  const bool once =
      degree_features && graph.repeats.empty() && report.at("parameters").value("orientation", "in") != "both";
  report["merged_events"] = once ? Json(static_cast<std::int64_t>(held) - graph.edges()) : Json(nullptr);
  report["dropped_self_loops"] = 0;
  report["self_loops_in_steps"] =
      std::accumulate(shape.self_loops_per_step.begin(), shape.self_loops_per_step.end(), std::int64_t{0});
  report["overlap_mean"] = number_or_null(shape.overlap_mean.value_or(NAN));
  report["edges_per_step_distribution"] = spread_of(shape.edges_per_step);
  report["active_vertices_distribution"] = spread_of(shape.active_vertices_per_step);
  const Json all = to_json(shape);
  for (const char* key : {"sequence_length", "edges_per_step", "overlap_per_step", "active_vertices_per_step"})
    report[key] = all.at(key);
  if (shape.smoothed.empty()) return;
  report["step_in_degree"] = all.at("smoothed").at(0).at("in_degree");
  report["step_out_degree"] = all.at("smoothed").at(0).at("out_degree");
}

/// What events tell and steps do not.
void complete_shape(const EventGraph& events, GraphShape& shape) {
  shape.events = events.events();
  shape.edge_feature_width = events.edge_feature_width;
  shape.unknown.erase("events"), shape.unknown.erase("edge_feature_width");
  if (events.stepped || events.events() == 0) {
    shape.unknown["time_span_seconds"] = "times count steps";
    return;
  }
  shape.time_span_seconds = events.time.back() - events.time.front();
  shape.unknown.erase("time_span_seconds");
}

}  // namespace

Inspection inspect(const std::string& workload, const Json& parameters, std::uint64_t seed,
                   const std::vector<std::int64_t>& windows) {
  Json report = Json::object();
  report["workload"] = workload;
  report["parameters"] = complete_workload_parameters(workload, parameters, "/workload");
  std::optional<EventGraph> events = load_events(workload, parameters);
  SnapshotGraph graph;
  if (events) {
    const auto options = from_json<FileOptions>(file_option_fields(), report["parameters"], "/workload");
    const Windowing windowing = windowing_for(options, *events, events->provenance.notes);
    graph = make_snapshots(*events, windowing, options.orientation);
  } else {
    graph = load_workload(workload, parameters, seed);
  }
  report["format"] = graph.provenance.format;
  report["source"] = graph.provenance.source;
  const bool steps_file = !events && !graph.provenance.sha256.empty();
  report["sha256"] = events || steps_file ? Json(graph.provenance.sha256) : Json(nullptr);
  report["licence"] = graph.provenance.licence.empty() ? Json(nullptr) : Json(graph.provenance.licence);
  report["ids"] = events || steps_file ? Json(graph.provenance.ids) : Json(nullptr);
  report["vertices"] = graph.vertices;
  if (events) {
    describe_events(*events, report);
  } else if (steps_file) {
    describe_snapshot_file(graph, report);
  } else {
    for (const char* key : {"events", "first_time", "last_time", "self_loops", "duplicates"}) report[key] = nullptr;
  }
  GraphShape shape = measure_shape(graph, workload, windows);
  if (events) complete_shape(*events, shape);
  describe_steps(graph, shape, events.has_value(), report);
  report["notes"] = graph.provenance.notes;
  return {std::move(report), std::move(shape)};
}

Json inspect_workload(const std::string& workload, const Json& parameters, std::uint64_t seed) {
  return inspect(workload, parameters, seed).report;
}

}  // namespace strobe
