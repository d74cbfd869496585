// Statistics of a workload for `strobe inspect`.
// Degrees and active vertices come from the degree features, which count every event of a step with multiplicity.
// Cost: O(T N + nnz) beside loading.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "workloads/workload.hpp"

namespace strobe {
namespace {

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// The value below which a share of the sorted values lies, linear between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

Json distribution(std::vector<double> values) {
  Json result = Json::object();
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  result["min"] = values.front();
  result["p25"] = quantile(values, 0.25);
  result["median"] = quantile(values, 0.5);
  result["p75"] = quantile(values, 0.75);
  result["p95"] = quantile(values, 0.95);
  result["max"] = values.back();
  result["mean"] = sum / static_cast<double>(values.size());
  return result;
}

/// How many labels are 1; null without labels.
Json count_ones(const std::vector<std::int8_t>& labels) {
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
}

void describe_degrees(const SnapshotGraph& graph, Json& report) {
  const auto vertices = static_cast<std::size_t>(graph.vertices), width = static_cast<std::size_t>(graph.feature_width);
  std::vector<double> in(vertices, 0.0), out(vertices, 0.0), active;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const float* features = graph.features.data() + t * vertices * width;
    std::int64_t seen = 0;
    for (std::size_t v = 0; v < vertices; ++v) {
      in[v] += static_cast<double>(features[v * width]);
      out[v] += static_cast<double>(features[v * width + 1]);
      seen += features[v * width] + features[v * width + 1] > 0;
    }
    active.push_back(static_cast<double>(seen));
  }
  report["in_degree"] = distribution(std::move(in));
  report["out_degree"] = distribution(std::move(out));
  report["active_vertices_per_step"] = distribution(std::move(active));
}

void describe_steps(const SnapshotGraph& graph, Json& report) {
  std::vector<double> sizes;
  Json per_step = Json::array();
  std::int64_t empty = 0;
  for (const auto& snapshot : graph.snapshots) {
    per_step.push_back(snapshot->nonzeros());
    sizes.push_back(static_cast<double>(snapshot->nonzeros()));
    empty += snapshot->nonzeros() == 0;
  }
  report["steps"] = graph.steps();
  report["empty_steps"] = empty;
  report["edges"] = graph.edges();
  report["overlap_mean"] = number_or_null(mean_overlap(graph));
  report["edges_per_step_distribution"] = distribution(std::move(sizes));
  describe_degrees(graph, report);
  report["edges_per_step"] = std::move(per_step);
}

}  // namespace

Json inspect_workload(const std::string& workload, const Json& parameters, std::uint64_t seed) {
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
  report["sha256"] = events ? Json(graph.provenance.sha256) : Json(nullptr);
  report["licence"] = graph.provenance.licence.empty() ? Json(nullptr) : Json(graph.provenance.licence);
  report["ids"] = events ? Json(graph.provenance.ids) : Json(nullptr);
  report["vertices"] = graph.vertices;
  if (events) {
    describe_events(*events, report);
  } else {
    for (const char* key : {"events", "first_time", "last_time", "self_loops", "duplicates"}) report[key] = nullptr;
  }
  describe_steps(graph, report);
  report["notes"] = graph.provenance.notes;
  return report;
}

}  // namespace strobe
