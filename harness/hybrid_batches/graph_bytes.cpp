// Invariant: the estimate is at most the size of the arrays, so no graph is refused that would have room. Cost O(1),
// and O(T) for a graph that exists.
#include "harness/hybrid_batches/graph_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "harness/full_batch/plan/host_parts.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/shape/shape_graph.hpp"

namespace strobe {
namespace {

constexpr double offset_bytes = sizeof(std::int64_t), vertex_bytes = sizeof(VertexId), raw_value_bytes = sizeof(float);

double all_of(const HostBytes& parts) {
  return static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
}

double raw_bytes(const GraphCounts& counts) {
  return counts.steps * (counts.vertices * (offset_bytes + counts.feature_width * raw_value_bytes) + offset_bytes +
                         sizeof(SnapshotGraph::snapshots[0])) +
         counts.edges * (vertex_bytes + raw_value_bytes);
}

/// A matrix of some steps, with self-loops if the Laplacian adds them.
double matrix_bytes(const GraphCounts& counts, const Preprocessing& what, double element) {
  const double cells = counts.vertices * counts.steps, loops = what.laplacian ? cells : 0;
  return cells * offset_bytes + (counts.edges + loops) * (vertex_bytes + element);
}

double number(const Json& workload, const char* key) {
  return workload.contains(key) && workload.at(key).is_number() ? workload.at(key).get<double>() : 0;
}

/// Vertices of a workload of events, if they are known without reading it; else 0.
double listed_vertices(const std::string& name, const Json& workload) {
  if (name == "bursty_events") return number(workload, "vertices");
  const auto found = catalogue().find(name);
  if (found == catalogue().end()) return 0;
  return static_cast<double>(found->second.listed_vertices.value_or(0));
}

bool is_set(const Json& workload, const char* key) {
  return workload.contains(key) && workload.at(key).is_string() && !workload.at(key).get<std::string>().empty();
}

}  // namespace

GraphBytes graph_bytes(const GraphCounts& counts, const Preparation& preparation, bool fp64) {
  const double element = fp64 ? sizeof(double) : sizeof(float);
  GraphCounts trained = counts;
  trained.steps = std::max(1.0, counts.steps - 1);
  trained.edges = counts.edges * trained.steps / std::max(1.0, counts.steps);
  const Preprocessing& inputs = preparation.inputs;
  const double width = counts.feature_width * static_cast<double>(inputs.feature_terms.count());
  GraphBytes bytes;
  bytes.raw = raw_bytes(counts);
  bytes.prepared = matrix_bytes(trained, inputs, element);
  bytes.prepared += trained.vertices * trained.steps * width * element * (inputs.keep_features ? 2 : 1);
  for (const Preprocessing& support : preparation.supports) bytes.prepared += matrix_bytes(trained, support, element);
  return bytes;
}

GraphBytes graph_bytes(const DataPlan& data, const ModelChoice& choice) {
  const Preparation preparation = choice.equations->preparation();
  if (!data.graph->has_structure()) {
    GraphCounts counts;
    counts.vertices = static_cast<double>(data.graph->vertices);
    counts.steps = static_cast<double>(data.shape->complete.shape.steps.value_or(data.graph->steps));
    const std::int64_t terms = std::max<std::int64_t>(1, preparation.inputs.feature_terms.count()),
                       width = data.graph->feature_width / terms;
    counts.feature_width = static_cast<double>(width);
    for (const std::int64_t edges : step_edges(data.shape->complete.shape)) counts.edges += static_cast<double>(edges);
    return graph_bytes(counts, preparation, choice.fp64);
  }
  GraphBytes bytes;
  bytes.raw = all_of(bytes_of_parts(*data.raw));
  bytes.prepared = all_of(bytes_of_parts(*data.graph));
  for (const auto& support : data.supports) bytes.prepared += all_of(bytes_of_parts(*support));
  for (const Samples* some : {&data.samples->train, &data.samples->test, &data.samples->validation})
    bytes.samples += static_cast<double>(bytes_of(*some));
  return bytes;
}

std::optional<GraphCounts> foreseen_counts(const Json& workload) {
  const std::string name = workload.at("name").get<std::string>();
  if (is_shape_workload(name)) return std::nullopt;
  GraphCounts counts;
  if (name == "uniform" || name == "power-law") {
    counts.vertices = number(workload, "vertices"), counts.steps = number(workload, "steps");
    const double of_step =
        name == "uniform" ? counts.vertices * number(workload, "density") : number(workload, "edges");
    counts.edges = of_step * counts.steps;
    return counts;
  }
  // Dropped steps, and features of a file, are only known when the workload is read.
  if (is_set(workload, "steps") || is_set(workload, "features") || number(workload, "min_edges") > 0)
    return std::nullopt;
  counts.vertices = listed_vertices(name, workload);
  counts.steps = number(workload, "window_count") - number(workload, "lags");
  if (counts.vertices < 1 || counts.steps < 1) return std::nullopt;
  return counts;
}

void check_foreseen(const Case& request, const ModelChoice& choice, double memory_bytes) {
  const auto counts = foreseen_counts(request.workload);
  if (!counts) return;
  const GraphBytes bytes = graph_bytes(*counts, choice.equations->preparation(), choice.fp64);
  if (bytes.all() <= memory_bytes) return;
  constexpr double gib = 1024.0 * 1024 * 1024;
  throw InvalidRequest(
      "/workload",
      fmt::format(
          "{:.0f} steps of {} vertices take at least {:.1f} GiB of the host's memory, {:.1f} as they are made or "
          "read and {:.1f} as the model reads them, and this machine has {:.1f} GiB; take longer windows, fewer "
          "steps or vertices, or simulate a shape of these counts (--device sim --numerics none)",
          counts->steps, format_count(static_cast<std::int64_t>(counts->vertices)), bytes.all() / gib, bytes.raw / gib,
          bytes.prepared / gib, memory_bytes / gib));
}

}  // namespace strobe
