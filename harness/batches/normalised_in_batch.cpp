// What a model asks of preprocessing is done in two parts: what looks across steps on the whole graph, what divides by
// degrees or multiplies with A on the batch, which is handed to `prepare` as a graph of its own.
#include <utility>

#include "harness/batches/batch_graph.hpp"

namespace strobe {
namespace {

Preprocessing in_batch(const Preprocessing& what) {
  Preprocessing rest = what;
  rest.smooth = "none";
  rest.smooth_features = false;
  rest.feature_scale = "none";
  return rest;
}

/// Step t of the batch as a graph that nothing has been done to.
std::shared_ptr<const Snapshot> snapshot_of(const PreparedGraph& graph, std::int64_t t) {
  auto snapshot = std::make_shared<Snapshot>();
  const auto first_row = graph.row_offsets.begin() + t * graph.vertices;
  const std::int64_t first = first_row[0], last = first_row[graph.vertices];
  for (std::int64_t v = 0; v <= graph.vertices; ++v) snapshot->row_offsets.push_back(first_row[v] - first);
  snapshot->columns.assign(graph.columns.begin() + first, graph.columns.begin() + last);
  if (graph.values64.empty()) {
    snapshot->values.assign(graph.values32.begin() + first, graph.values32.begin() + last);
  } else {
    snapshot->exact_values.assign(graph.values64.begin() + first, graph.values64.begin() + last);
    snapshot->values.assign(snapshot->exact_values.begin(), snapshot->exact_values.end());
  }
  return snapshot;
}

SnapshotGraph unprepared(const PreparedGraph& graph) {
  SnapshotGraph raw;
  raw.vertices = graph.vertices;
  raw.feature_width = graph.feature_width;
  for (std::int64_t t = 0; t < graph.steps; ++t) raw.snapshots.push_back(snapshot_of(graph, t));
  raw.exact_features = graph.features64;
  raw.features = graph.features32;
  if (raw.features.empty()) raw.features.assign(graph.features64.begin(), graph.features64.end());
  return raw;
}

}  // namespace

Preprocessing before_cutting(const Preprocessing& what) {
  Preprocessing first;
  first.smooth = what.smooth;
  first.window = what.window;
  first.smooth_features = what.smooth_features;
  first.feature_scale = what.feature_scale;
  first.m = what.m;
  first.laplacian = false;
  first.precompute_first_product = false;
  return first;
}

BatchGraph normalised_in_batch(const BatchGraph& batch, const Preparation& what, bool fp64) {
  const SnapshotGraph raw = unprepared(*batch.inputs);
  const auto prepared = [&](const Preprocessing& part) {
    return std::make_shared<const PreparedGraph>(
        prepare(raw, in_batch(part), batch.steps.count, fp64, batch.inputs->presence));
  };
  BatchGraph result;
  result.steps = batch.steps;
  result.frontier = batch.frontier;
  result.inputs = prepared(what.inputs);
  for (const Preprocessing& support : what.supports) result.supports.push_back(prepared(support));
  return result;
}

}  // namespace strobe
