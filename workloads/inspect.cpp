// Statistics of a workload for `strobe inspect`. Degrees summed over steps are counted from the events of each step,
// with multiplicity; everything else is the graph's shape. In and out are those of the data, in every orientation of
// rows.
// Cost: that of loading and of `measure_statistics` (twice with both orientations), and one pass over the events of
// every step.
#include "workloads/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "core/or_null.hpp"
#include "workloads/continuous/recent_repeats.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/graph/removals.hpp"
#include "workloads/graph/step_range.hpp"
#include "workloads/graph/windows.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/reading/text/dates.hpp"

namespace strobe {
namespace {

/// Quantiles of a list with one value per step, each one of its values (`nearest_rank`).
Json spread_of(std::vector<std::int64_t> values) {
  Json spread = Json::object();
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[nearest_rank(share, static_cast<std::int64_t>(values.size())) - 1];
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
  report["events"] = events.events() - count_removals(events);
  report["first_time"] = events.events() > 0 ? Json(events.time.front()) : Json(nullptr);
  report["last_time"] = events.events() > 0 ? Json(events.time.back()) : Json(nullptr);
  if (events.dated && events.events() > 0) {
    report["first_date"] = date_text(events.time.front());
    report["last_date"] = date_text(events.time.back());
  }
  report["time_unit"] = events.stepped ? "steps" : "seconds";
  report["self_loops"] = events.provenance.self_loops;
  report["duplicates"] = events.provenance.duplicates;
  report["was_sorted"] = events.provenance.was_sorted;
  const RecentRepeats repeats = count_recent_repeats(events);
  report["recent_repeats"] = repeats.asked > 0
                                 ? Json(static_cast<double>(repeats.repeated) / static_cast<double>(repeats.asked))
                                 : Json(nullptr);
  report["weighted"] = !events.weight.empty();
  report["edge_feature_width"] = events.edge_feature_width;
  report["event_classes"] = events.event_class_source.classes;
  report["labelled_events"] = count_ones(events.event_label);
  report["labelled_vertices"] = count_ones(events.vertex_label);
  report["timed_labels"] = events.timed_labels.time.size();
  report["vertex_feature_width"] = events.vertex_feature_width;
}

/// Degrees summed over steps, and the events that the steps hold.
struct DegreeSums {
  std::vector<std::int64_t> in, out;  // [N]
  std::int64_t events = 0;
  explicit DegreeSums(std::int64_t vertices)
      : in(static_cast<std::size_t>(vertices), 0), out(static_cast<std::size_t>(vertices), 0) {}

  void add(VertexId source, VertexId target, std::int64_t times) {
    in[target] += times;
    out[source] += times;
    events += times;
  }
};

/// Every event once for each step that holds it; steps of edge life count as the windows that their features are of.
DegreeSums sum_degrees(const EventGraph& events, const StepCut& kept, bool cumulative) {
  DegreeSums sums(events.vertices);
  for (std::size_t t = 0; t < kept.first.size(); ++t) {
    // A cumulative step holds the events of all windows so far. Those of dropped steps are added to the next one that
    // is kept.
    const std::int64_t first = cumulative ? (t == 0 ? 0 : kept.last[t - 1]) : kept.first[t];
    const std::int64_t times = cumulative ? static_cast<std::int64_t>(kept.first.size() - t) : 1;
    for (std::size_t e = first; e < static_cast<std::size_t>(kept.last[t]); ++e) {
      const bool removal = events.removals && events.weight[e] < 0;
      if (!removal) sums.add(events.source[e], events.target[e], times);
    }
  }
  return sums;
}

/// Every edge of every step once, for graphs without events.
DegreeSums sum_degrees(const SnapshotGraph& graph) {
  DegreeSums sums(graph.vertices);
  const bool rows_are_targets = graph.orientation != "out";
  for (const auto& snapshot : graph.snapshots) {
    for (std::size_t v = 0; v < sums.in.size(); ++v) {
      for (std::int64_t i = snapshot->row_offsets[v]; i < snapshot->row_offsets[v + 1]; ++i) {
        const VertexId row = static_cast<VertexId>(v), column = snapshot->columns[i];
        rows_are_targets ? sums.add(column, row, 1) : sums.add(row, column, 1);
      }
    }
  }
  return sums;
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
void describe_steps(const SnapshotGraph& graph, const GraphStatistics& shape, const DegreeSums& sums, bool of_events,
                    Json& report) {
  report["steps"] = graph.steps();
  report["empty_steps"] = std::count(shape.edges_per_step.begin(), shape.edges_per_step.end(), 0);
  report["repeats"] = or_null(graph.repeats);
  report["edges"] = graph.edges();
  report["in_degree"] = to_json(histogram_of(sums.in));
  report["out_degree"] = to_json(histogram_of(sums.out));
  // Overlapping steps hold an event more than once, and both orientations make two edges of it.
  const bool once = of_events && graph.repeats.empty() && graph.orientation != "both";
  report["merged_events"] = once ? Json(sums.events - graph.edges()) : Json(nullptr);
  report["dropped_self_loops"] = 0;
  report["self_loops_in_steps"] =
      std::accumulate(shape.self_loops_per_step.begin(), shape.self_loops_per_step.end(), std::int64_t{0});
  report["overlap_mean"] = or_null(shape.overlap_mean.value_or(NAN));
  report["edges_per_step_distribution"] = spread_of(shape.edges_per_step);
  report["active_vertices_distribution"] = spread_of(shape.active_vertices_per_step);
  const Json all = to_json(shape);
  for (const char* key : {"sequence_length", "edges_per_step", "overlap_per_step", "active_vertices_per_step"})
    report[key] = all.at(key);
}

/// Distinct sources and targets of a vertex in a step. `directed` is the shape of steps whose rows are all targets, or
/// all sources.
void describe_neighbours(const GraphStatistics& directed, bool rows_are_targets, Json& report) {
  if (directed.smoothed.empty()) return;
  const Json raw = to_json(directed).at("smoothed").at(0);
  report["step_in_degree"] = raw.at(rows_are_targets ? "in_degree" : "out_degree");
  report["step_out_degree"] = raw.at(rows_are_targets ? "out_degree" : "in_degree");
}

/// Fills in facts that events show and steps do not.
void complete_shape(const EventGraph& events, GraphStatistics& shape) {
  shape.events = events.events() - count_removals(events);
  shape.edge_feature_width = events.edge_feature_width;
  shape.unknown.erase("events"), shape.unknown.erase("edge_feature_width");
  if (events.stepped || events.events() == 0) {
    shape.unknown["time_span_seconds"] = "times count steps";
    return;
  }
  shape.time_span_seconds = events.time.back() - events.time.front();
  shape.unknown.erase("time_span_seconds");
}

/// The inspected graph: the steps, and the events and cut that they were made of, if any.
struct Loaded {
  std::optional<EventGraph> events;
  SnapshotGraph graph;
  StepCut kept;
  /// With both orientations: the same steps with targets as rows, where they are known.
  std::optional<SnapshotGraph> directed;
};

/// The steps that are `kept` with targets as rows, which may have fewer than `min_edges` edges.
SnapshotGraph directed_steps(const EventGraph& events, Windowing windowing, const StepCut& kept) {
  windowing.min_edges = 0;
  StepCut all;
  SnapshotGraph graph = make_snapshots(events, windowing, "in", all);
  std::size_t found = 0;
  for (std::size_t t = 0; t < all.begin.size() && found < kept.begin.size(); ++t) {
    const bool same =
        all.first[t] == kept.first[found] && all.last[t] == kept.last[found] && all.begin[t] == kept.begin[found];
    if (same) graph.snapshots[found++] = graph.snapshots[t];
  }
  graph.snapshots.resize(found);
  return graph;
}

Loaded load(const std::string& workload, const Json& parameters, const Json& complete, std::uint64_t seed) {
  Loaded loaded;
  loaded.events = load_events(workload, parameters, seed);
  if (loaded.events) {
    const bool generated = EventGeneratorRegistry::instance().contains(workload);
    const FileOptions options =
        generated ? step_options(complete) : from_json<FileOptions>(file_option_fields(), complete, "/workload");
    const Windowing windowing = windowing_for(options, *loaded.events, loaded.events->provenance.notes);
    loaded.graph = make_snapshots(*loaded.events, windowing, options.orientation, loaded.kept);
    keep_steps(options.steps, loaded.graph, loaded.kept);
    set_features(&*loaded.events, options.features,
                 loaded.graph);  // a file that no run could take is refused here, too
    set_cell_labels(*loaded.events, loaded.kept, options.labels, loaded.graph);
    if (options.orientation == "both") loaded.directed = directed_steps(*loaded.events, windowing, loaded.kept);
    return loaded;
  }
  loaded.graph = load_workload(workload, parameters, seed);
  if (complete.value("orientation", "in") != "both") return loaded;
  Json directed = parameters;
  directed["orientation"] = "in";
  loaded.directed = load_workload(workload, directed, seed);
  if (loaded.directed->orientation == "both") loaded.directed.reset();  // the file's own steps are so
  return loaded;
}

void describe_source(const Loaded& loaded, Json& report) {
  const Provenance& provenance = loaded.graph.provenance;
  const bool steps_file = !loaded.events && !provenance.sha256.empty();
  report["format"] = provenance.format;
  report["source"] = provenance.source;
  report["sha256"] = or_null(provenance.sha256);
  report["licence"] = or_null(provenance.licence);
  report["ids"] = loaded.events || steps_file ? Json(provenance.ids) : Json(nullptr);
  report["vertices"] = loaded.graph.vertices;
  if (loaded.events) {
    describe_events(*loaded.events, report);
  } else if (steps_file) {
    describe_snapshot_file(loaded.graph, report);
  } else {
    for (const char* key : {"events", "first_time", "last_time", "self_loops", "duplicates"}) report[key] = nullptr;
  }
}

}  // namespace

Inspection inspect(const std::string& workload, const Json& parameters, std::uint64_t seed,
                   const std::vector<std::int64_t>& windows) {
  Json report = Json::object();
  report["workload"] = workload;
  report["parameters"] = complete_workload_parameters(workload, parameters, "/workload");
  const Loaded loaded = load(workload, parameters, report["parameters"], seed);
  const SnapshotGraph& graph = loaded.graph;
  describe_source(loaded, report);
  GraphStatistics shape = measure_statistics(graph, workload, windows);
  if (loaded.events) complete_shape(*loaded.events, shape);
  const SnapshotGraph& directed = loaded.directed ? *loaded.directed : graph;
  const DegreeSums sums =
      loaded.events ? sum_degrees(*loaded.events, loaded.kept, graph.repeats == "cumulative") : sum_degrees(directed);
  describe_steps(graph, shape, sums, loaded.events.has_value(), report);
  describe_neighbours(loaded.directed ? measure_statistics(directed, workload, {1}) : shape,
                      directed.orientation != "out", report);
  report["notes"] = graph.provenance.notes;
  return {std::move(report), std::move(shape)};
}

Json inspect_workload(const std::string& workload, const Json& parameters, std::uint64_t seed) {
  return inspect(workload, parameters, seed).report;
}

}  // namespace strobe
