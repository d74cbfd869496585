// Cuts events into steps. Returns: snapshots over all vertices of the event graph, with degree features per step.
// Invariants: edge life sums steps that were rounded. Events are counted in integers.
// Cost: that of the steps (steps/step_builder.hpp), times the windows that an event lies in; a cumulative graph also
// costs its own non-zeros. Under a bound of memory (reading_bound.hpp) large arrays lie in temporary files.
#include "workloads/graph/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/outlying_times.hpp"
#include "workloads/graph/removals.hpp"
#include "workloads/graph/sides.hpp"
#include "workloads/graph/smoothing.hpp"
#include "workloads/graph/snapshot_file.hpp"
#include "workloads/graph/step_shelf.hpp"
#include "workloads/graph/steps/step_builder.hpp"
#include "workloads/graph/windows.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::int64_t degree_features = 2;

StepWeights parse_weights(const std::string& name, const EventGraph& events) {
  if (name == "count") return StepWeights::count;
  if (name == "binary") return StepWeights::binary;
  if (name != "file")
    throw InvalidRequest("weights", unknown_name_message("value of weights", name, {"count", "binary", "file"}));
  if (events.weight.empty())
    throw InvalidInput(events.provenance.source, 0, 0, "weights=file, but the file has no weights");
  return StepWeights::file;
}

/// In-degree and out-degree of the raw step, parallel edges with multiplicity (decisions M8), added to `degrees`.
void count_degrees(const EventGraph& events, std::size_t first, std::size_t last, std::int64_t* degrees) {
  for (std::size_t e = first; e < last; ++e) {
    ++degrees[degree_features * events.target[e]];
    ++degrees[degree_features * events.source[e] + 1];
  }
}

/// The degrees of each step as features; those of a cumulative graph are of all events so far.
void set_degree_features(const EventGraph& events, const StepCut& cut, bool cumulative, SnapshotGraph& graph) {
  std::vector<std::int64_t> degrees(events.vertices * degree_features, 0);
  GrowingColumn<float> features(degrees.size() * cut.begin.size(), reading_bound());
  GrowingColumn<double> exact;
  float* next = features.data();
  for (std::size_t t = 0; t < cut.begin.size(); ++t) {
    if (!cumulative) std::fill(degrees.begin(), degrees.end(), 0);
    count_degrees(events, static_cast<std::size_t>(cut.first[t]), static_cast<std::size_t>(cut.last[t]),
                  degrees.data());
    for (const std::int64_t degree : degrees) {
      const auto rounded = static_cast<float>(degree);
      const bool rounds = static_cast<std::int64_t>(rounded) != degree;
      if (rounds && exact.empty()) {
        for (const float* before = features.data(); before < next; ++before) exact.push_back(double{*before});
      }
      if (rounds || !exact.empty()) exact.push_back(static_cast<double>(degree));
      *next++ = rounded;
    }
  }
  graph.feature_width = degree_features;
  graph.degree_features = true;
  graph.features = features.finish();
  graph.exact_features = exact.finish();
}

/// The sum of all windows so far, in double; with `exact` also that of the windows' exact values.
class RunningSum {
 public:
  RunningSum(std::int64_t vertices, bool binary, bool exact)
      : row_offsets_(std::vector<std::int64_t>(static_cast<std::size_t>(vertices) + 1, 0)),
        binary_(binary),
        keeps_exact_(exact) {}

  std::shared_ptr<const Snapshot> add(const Snapshot& window) {
    std::vector<std::int64_t> row_offsets{0};
    row_offsets.reserve(row_offsets_.size());
    const std::size_t most = columns_.size() + window.columns.size();
    GrowingColumn<VertexId> columns(most, reading_bound());
    GrowingColumn<double> values(most, reading_bound()), exact;
    std::size_t count = 0;
    for (std::size_t v = 0; v + 1 < row_offsets_.size(); ++v) {
      auto i = static_cast<std::size_t>(row_offsets_[v]), j = static_cast<std::size_t>(window.row_offsets[v]);
      const std::size_t i_end = row_offsets_[v + 1];
      const std::size_t j_end = window.row_offsets[v + 1];
      while (i < i_end || j < j_end) {
        const bool old = j == j_end || (i < i_end && columns_[i] <= window.columns[j]);
        const bool fresh = i == i_end || (j < j_end && window.columns[j] <= columns_[i]);
        columns[count] = old ? columns_[i] : window.columns[j];
        if (keeps_exact_) exact.push_back((old ? exact_[i] : 0.0) + (fresh ? exact_value(window, j) : 0.0));
        values[count++] = (old ? values_[i++] : 0.0) + (fresh ? static_cast<double>(window.values[j++]) : 0.0);
      }
      row_offsets.push_back(static_cast<std::int64_t>(count));
    }
    columns.shrink(count), values.shrink(count);
    columns.fit(), values.fit(), exact.fit();
    row_offsets_ = std::move(row_offsets), columns_ = columns.finish();
    values_ = values.finish(), exact_ = exact.finish();
    return rounded();
  }

 private:
  std::shared_ptr<const Snapshot> rounded() const {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets = row_offsets_;
    snapshot->columns = columns_;
    GrowingColumn<float> values;
    values.reserve(values_.size());
    for (const double value : values_) values.push_back(binary_ ? 1.0f : static_cast<float>(value));
    snapshot->values = values.finish();
    if (!binary_) snapshot->exact_values = where_rounded(keeps_exact_ ? exact_ : values_, snapshot->values);
    return snapshot;
  }

  // The newest snapshot shares them.
  Column<std::int64_t> row_offsets_;
  Column<VertexId> columns_;
  Column<double> values_, exact_;
  bool binary_, keeps_exact_;
};

/// Turns new edges per step into all edges so far. Steps without news share their snapshot.
void accumulate(SnapshotGraph& graph, bool binary, StepShelf& shelf) {
  const bool exact = !binary && std::any_of(graph.snapshots.begin(), graph.snapshots.end(),
                                            [](const auto& snapshot) { return !snapshot->exact_values.empty(); });
  RunningSum sum(graph.vertices, binary, exact);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const bool news = graph.snapshots[t]->nonzeros() > 0;
    graph.snapshots[t] = news || t == 0 ? shelf.keep(sum.add(*graph.snapshots[t])) : graph.snapshots[t - 1];
  }
}

/// Drops the steps with fewer than `min_edges` edges, from `cut` too.
void drop_small_steps(SnapshotGraph& graph, std::int64_t min_edges, StepCut& cut) {
  const auto size = static_cast<std::size_t>(graph.vertices * graph.feature_width);
  const auto dropped =
      static_cast<std::size_t>(std::count_if(graph.snapshots.begin(), graph.snapshots.end(),
                                             [&](const auto& snapshot) { return snapshot->nonzeros() < min_edges; }));
  if (dropped == graph.snapshots.size())
    throw InvalidRequest("min_edges", fmt::format("no step has {} edges; nothing is left", min_edges));
  if (dropped == 0) return;
  GrowingColumn<float> features;
  GrowingColumn<double> exact;
  features.reserve((graph.snapshots.size() - dropped) * size);
  if (!graph.exact_features.empty()) exact.reserve((graph.snapshots.size() - dropped) * size);
  std::size_t kept = 0;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    if (graph.snapshots[t]->nonzeros() < min_edges) continue;
    features.append(graph.features.data() + t * size, size);
    if (!graph.exact_features.empty()) exact.append(graph.exact_features.data() + t * size, size);
    cut.begin[kept] = cut.begin[t], cut.end[kept] = cut.end[t], cut.next_end[kept] = cut.next_end[t];
    cut.first[kept] = cut.first[t], cut.last[kept] = cut.last[t];
    graph.snapshots[kept++] = graph.snapshots[t];
  }
  graph.provenance.notes.push_back(fmt::format("{} steps with fewer than {} edges were dropped", dropped, min_edges));
  graph.snapshots.resize(kept);
  graph.features = features.finish();
  graph.exact_features = exact.finish();
  for (auto* const values : {&cut.begin, &cut.end, &cut.next_end}) values->resize(kept);
  for (auto* const values : {&cut.first, &cut.last}) values->resize(kept);
}

/// Says how many borders of windows of events lie inside of an instant: the steps on both sides share its time.
void note_cut_instants(const EventGraph& events, const StepCut& cut, std::vector<std::string>& notes) {
  const auto is_cut = [&](std::int64_t last) {
    const std::size_t at = last;
    return at < events.time.size() && events.time[at - 1] == events.time[at];
  };
  const auto borders = std::count_if(cut.last.begin(), cut.last.end(), is_cut);
  if (borders == 0) return;
  notes.push_back(
      fmt::format("{} of {} windows of events end between events of one time, so a step and the next one "
                  "(also of training and test) may hold the same instant",
                  borders, cut.steps()));
}

std::int64_t common_edges(const Snapshot& a, const Snapshot& b) {
  std::int64_t common = 0;
  for (std::size_t v = 0; v + 1 < a.row_offsets.size(); ++v) {
    std::int64_t i = a.row_offsets[v], j = b.row_offsets[v];
    while (i < a.row_offsets[v + 1] && j < b.row_offsets[v + 1]) {
      const VertexId left = a.columns[i], right = b.columns[j];
      common += left == right;
      i += left <= right;
      j += right <= left;
    }
  }
  return common;
}

}  // namespace

std::int64_t SnapshotGraph::edges() const {
  std::int64_t sum = 0;
  for (const auto& snapshot : snapshots) sum += snapshot->nonzeros();
  return sum;
}

SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing, const std::string& orientation,
                             StepCut& kept) {
  if (orientation != "in" && orientation != "out" && orientation != "both") {
    throw InvalidRequest("orientation",
                         unknown_name_message("value of orientation", orientation, {"in", "out", "both"}));
  }
  if (windowing.partial != "keep" && windowing.partial != "drop") {
    throw InvalidRequest("partial", unknown_name_message("value of partial", windowing.partial, {"keep", "drop"}));
  }
  const StepWeights weights = parse_weights(windowing.weights, events);
  StepCut cut = events.removals ? cut_steps_with_removals(events, windowing) : cut_steps(events, windowing);
  SnapshotGraph graph;
  graph.vertices = events.vertices;
  graph.vertex_label = events.vertex_label.copy();
  graph.side = sides_of(events);
  graph.provenance = events.provenance;
  graph.original_id = events.original_id.copy(), graph.vertex_name = events.vertex_name, graph.dated = events.dated;
  if (windowing.events > 0) note_cut_instants(events, cut, graph.provenance.notes);
  set_degree_features(events, cut, windowing.cumulative, graph);
  StepShelf shelf;
  StepBuilder builder(events, weights, orientation != "out", orientation != "in");
  for (std::size_t t = 0; t < cut.begin.size(); ++t)
    graph.snapshots.push_back(
        shelf.keep(builder.build(static_cast<std::size_t>(cut.first[t]), static_cast<std::size_t>(cut.last[t]))));
  if (windowing.cumulative) accumulate(graph, weights == StepWeights::binary, shelf);
  if (windowing.edge_life > 1) graph = edge_life(graph, windowing.edge_life);
  if (events.removals) apply_removals(events, cut, windowing, orientation, shelf, graph);
  graph.repeats = windowing.cumulative                              ? "cumulative"
                  : windowing.edge_life > 1                         ? "edge_life"
                  : windowing.lags > 0 || !windowing.stride.empty() ? "sliding"
                                                                    : "";
  graph.orientation = orientation;
  if (weights == StepWeights::file) refuse_overflow(graph, events.provenance.source, &events);
  if (windowing.min_edges > 0) drop_small_steps(graph, windowing.min_edges, cut);
  note_empty_steps(graph);
  graph.step_begin = cut.begin, graph.step_end = cut.end;
  kept = std::move(cut);
  return graph;
}

SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing, const std::string& orientation) {
  StepCut kept;
  return make_snapshots(events, windowing, orientation, kept);
}

std::vector<double> overlap_per_step(const SnapshotGraph& graph) {
  std::vector<double> overlap(graph.snapshots.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 1; t < graph.snapshots.size(); ++t) {
    const Snapshot& now = *graph.snapshots[t];
    if (now.nonzeros() == 0) continue;
    overlap[t] = static_cast<double>(common_edges(*graph.snapshots[t - 1], now)) / static_cast<double>(now.nonzeros());
  }
  return overlap;
}

double mean_overlap(const SnapshotGraph& graph) {
  double sum = 0;
  std::int64_t compared = 0;
  for (const double overlap : overlap_per_step(graph)) {
    if (std::isnan(overlap)) continue;
    sum += overlap;
    ++compared;
  }
  return compared == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(compared);
}

}  // namespace strobe
