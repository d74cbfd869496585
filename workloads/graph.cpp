// Cuts events into windows and builds one sorted CSR per window.
// Returns: snapshots over all vertices of the event graph, with degree features per step.
// Invariants: columns of a row are sorted and distinct; every event lies in exactly one window; steps without events
// share one empty snapshot. Parallel edges are summed in double, in time order, and rounded once.
// Cost: O(E log d + T N) time, d = events of one row in one window; memory of the result plus O(N + events of a
// window).
#include "workloads/graph.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

constexpr std::int64_t degree_features = 2;

/// Where windows begin: window k holds the events [offsets[k], offsets[k + 1]).
struct Cut {
  std::vector<std::int64_t> offsets{0};
  std::vector<double> begin;
  bool last_is_partial = false;
};

/// Refuses numbers of steps that no machine of this size could hold, before anything is allocated.
void check_steps(double steps, std::int64_t vertices, const std::string& where) {
  const double bytes = steps * (static_cast<double>(vertices + 1) * sizeof(std::int64_t) +
                                static_cast<double>(vertices * degree_features) * sizeof(float));
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (steps >= std::numeric_limits<Step>::max() || bytes > memory) {
    throw InvalidRequest(where, fmt::format("{:.0f} steps of {} vertices need {}, this machine has {}; choose longer "
                                            "windows",
                                            steps, format_count(vertices), format_bytes(bytes), format_bytes(memory)));
  }
}

/// Half-open windows of `length` from the first event; with `fixed_count` > 0 there are exactly that many and the last
/// one is closed at its end.
Cut cut_by_length(const EventGraph& events, double length, std::int64_t fixed_count, const std::string& where) {
  const double first = events.time.front();
  const double steps =
      fixed_count > 0 ? static_cast<double>(fixed_count) : std::floor((events.time.back() - first) / length) + 1;
  check_steps(steps, events.vertices, where);
  Cut cut;
  std::size_t next = 0;
  const auto window_begin = [&](std::int64_t k) { return first + static_cast<double>(k) * length; };
  for (std::int64_t k = 0; next < events.time.size() || k < fixed_count; ++k) {
    const bool last = k + 1 == fixed_count;
    while (next < events.time.size() && (last || events.time[next] < window_begin(k + 1))) ++next;
    cut.begin.push_back(window_begin(k));
    cut.offsets.push_back(static_cast<std::int64_t>(next));
  }
  // A window of seconds that holds the last event ends after it, so it may have been cut off; integer steps tell.
  if (fixed_count == 0) {
    cut.last_is_partial =
        !events.stepped || window_begin(static_cast<std::int64_t>(cut.begin.size())) > events.time.back() + 1;
  }
  return cut;
}

Cut cut_by_duration(const EventGraph& events, const std::string& duration) {
  const double length = parse_duration_seconds(duration, "window");
  if (events.stepped && (!std::isdigit(static_cast<unsigned char>(duration.back())) || length != std::floor(length))) {
    throw InvalidRequest("window",
                         fmt::format("'{}': time counts steps here; write a whole number of steps", duration));
  }
  return cut_by_length(events, length, 0, "window");
}

Cut cut_by_events(const EventGraph& events, std::int64_t per_window) {
  const std::int64_t total = events.events();
  check_steps(std::ceil(static_cast<double>(total) / static_cast<double>(per_window)), events.vertices,
              "window_events");
  Cut cut;
  for (std::int64_t first = 0; first < total; first += std::min(per_window, total - first)) {
    cut.begin.push_back(events.time[static_cast<std::size_t>(first)]);
    cut.offsets.push_back(first + std::min(per_window, total - first));
  }
  cut.last_is_partial = total % per_window != 0;
  return cut;
}

Cut cut_by_count(const EventGraph& events, std::int64_t count) {
  const double span = events.time.back() - events.time.front() + (events.stepped ? 1 : 0);
  if (count > 1 && !(span > 0)) {
    throw InvalidRequest("window_count",
                         fmt::format("all events have the same time; they cannot be cut into {} slices", count));
  }
  return cut_by_length(events, span / static_cast<double>(count), count, "window_count");
}

Cut cut_events(const EventGraph& events, const Windowing& windowing) {
  const int chosen = !windowing.duration.empty() + (windowing.events != 0) + (windowing.count != 0);
  if (chosen > 1) {
    throw InvalidRequest("window", "window, window_events and window_count exclude each other; give one of them");
  }
  if (windowing.events < 0) throw InvalidRequest("window_events", "must be positive");
  if (windowing.count < 0) throw InvalidRequest("window_count", "must be positive");
  if (events.events() == 0) throw InvalidRequest("workload", "the graph has no events");
  if (!windowing.duration.empty()) return cut_by_duration(events, windowing.duration);
  if (windowing.events > 0) return cut_by_events(events, windowing.events);
  if (windowing.count > 0) return cut_by_count(events, windowing.count);
  if (!events.stepped) {
    throw InvalidRequest("window", "the events have times, not steps; give window, window_events or window_count");
  }
  return cut_by_length(events, 1, 0, "workload");
}

struct WeightedColumn {
  VertexId column;
  float weight;
};

enum class Weights { count, binary, file };

/// Builds the snapshots of one graph; keeps its working memory from window to window.
class SnapshotBuilder {
 public:
  SnapshotBuilder(const EventGraph& events, Weights weights, bool rows_are_targets, bool rows_are_sources)
      : events_(events),
        weights_(weights),
        rows_are_targets_(rows_are_targets),
        rows_are_sources_(rows_are_sources),
        row_end_(static_cast<std::size_t>(events.vertices) + 1) {
    auto empty = std::make_shared<Snapshot>();
    empty->row_offsets.assign(static_cast<std::size_t>(events.vertices) + 1, 0);
    empty_ = empty;
  }

  std::shared_ptr<const Snapshot> build(std::size_t first, std::size_t last) {
    if (first == last) return empty_;
    bucket_by_row(first, last);
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets.reserve(row_end_.size());
    snapshot->row_offsets.push_back(0);
    snapshot->columns.reserve(entries_.size());
    snapshot->values.reserve(entries_.size());
    // After bucketing, row_end_[v] is one past row v's last entry.
    for (std::size_t v = 0, begin = 0; v + 1 < row_end_.size(); ++v) {
      const auto end = static_cast<std::size_t>(row_end_[v]);
      if (begin != end) merge_row(begin, end, *snapshot);
      snapshot->row_offsets.push_back(snapshot->nonzeros());
      begin = end;
    }
    snapshot->columns.shrink_to_fit();
    snapshot->values.shrink_to_fit();
    return snapshot;
  }

 private:
  template <class Visit>
  void for_each_entry(std::size_t first, std::size_t last, Visit&& visit) const {
    for (std::size_t e = first; e < last; ++e) {
      const float weight = weights_ == Weights::file ? events_.weight[e] : 1.0f;
      if (rows_are_targets_) visit(events_.target[e], WeightedColumn{events_.source[e], weight});
      if (rows_are_sources_) visit(events_.source[e], WeightedColumn{events_.target[e], weight});
    }
  }

  /// Counting sort by row; stable, so entries of a row stay in time order.
  void bucket_by_row(std::size_t first, std::size_t last) {
    std::fill(row_end_.begin(), row_end_.end(), 0);
    for_each_entry(first, last, [&](VertexId row, WeightedColumn) { ++row_end_[static_cast<std::size_t>(row) + 1]; });
    for (std::size_t v = 1; v < row_end_.size(); ++v) row_end_[v] += row_end_[v - 1];
    entries_.resize(static_cast<std::size_t>(row_end_.back()));
    for_each_entry(first, last, [&](VertexId row, WeightedColumn entry) {
      entries_[static_cast<std::size_t>(row_end_[static_cast<std::size_t>(row)]++)] = entry;
    });
  }

  void merge_row(std::size_t begin, std::size_t end, Snapshot& snapshot) {
    const auto at = [&](std::size_t i) { return entries_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::stable_sort(at(begin), at(end),
                     [](const WeightedColumn& a, const WeightedColumn& b) { return a.column < b.column; });
    for (std::size_t i = begin; i < end;) {
      const VertexId column = entries_[i].column;
      double sum = 0;
      for (; i < end && entries_[i].column == column; ++i) sum += static_cast<double>(entries_[i].weight);
      snapshot.columns.push_back(column);
      snapshot.values.push_back(weights_ == Weights::binary ? 1.0f : static_cast<float>(sum));
    }
  }

  const EventGraph& events_;
  Weights weights_;
  bool rows_are_targets_, rows_are_sources_;
  std::vector<std::int64_t> row_end_;
  std::vector<WeightedColumn> entries_;
  std::shared_ptr<const Snapshot> empty_;
};

Weights parse_weights(const std::string& name, const EventGraph& events) {
  if (name == "count") return Weights::count;
  if (name == "binary") return Weights::binary;
  if (name != "file")
    throw InvalidRequest("weights", unknown_name_message("value of weights", name, {"count", "binary", "file"}));
  if (events.weight.empty())
    throw InvalidInput(events.provenance.source, 0, 0, "weights=file, but the file has no weights");
  return Weights::file;
}

/// In-degree and out-degree of the raw step, parallel edges with multiplicity (decisions M8).
void count_degrees(const EventGraph& events, std::size_t first, std::size_t last, float* features) {
  for (std::size_t e = first; e < last; ++e) {
    features[degree_features * events.target[e]] += 1.0f;
    features[degree_features * events.source[e] + 1] += 1.0f;
  }
}

std::int64_t common_edges(const Snapshot& a, const Snapshot& b) {
  std::int64_t common = 0;
  for (std::size_t v = 0; v + 1 < a.row_offsets.size(); ++v) {
    std::int64_t i = a.row_offsets[v], j = b.row_offsets[v];
    while (i < a.row_offsets[v + 1] && j < b.row_offsets[v + 1]) {
      const VertexId left = a.columns[static_cast<std::size_t>(i)], right = b.columns[static_cast<std::size_t>(j)];
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

SnapshotGraph make_snapshots(const EventGraph& events, const Windowing& windowing, const std::string& orientation) {
  if (orientation != "in" && orientation != "out" && orientation != "both") {
    throw InvalidRequest("orientation",
                         unknown_name_message("value of orientation", orientation, {"in", "out", "both"}));
  }
  if (windowing.partial != "keep" && windowing.partial != "drop") {
    throw InvalidRequest("partial", unknown_name_message("value of partial", windowing.partial, {"keep", "drop"}));
  }
  const Weights weights = parse_weights(windowing.weights, events);
  Cut cut = cut_events(events, windowing);
  if (windowing.partial == "drop" && cut.last_is_partial) {
    cut.begin.pop_back();
    if (cut.begin.empty())
      throw InvalidRequest("partial", "the only window is partial; nothing is left when it is dropped");
  }
  SnapshotGraph graph;
  graph.vertices = events.vertices;
  graph.feature_width = degree_features;
  graph.step_begin = cut.begin;
  graph.vertex_label = events.vertex_label;
  graph.provenance = events.provenance;
  const std::size_t step_features = static_cast<std::size_t>(events.vertices * degree_features);
  graph.features.assign(cut.begin.size() * step_features, 0.0f);
  SnapshotBuilder builder(events, weights, orientation != "out", orientation != "in");
  for (std::size_t t = 0; t < cut.begin.size(); ++t) {
    const auto first = static_cast<std::size_t>(cut.offsets[t]), last = static_cast<std::size_t>(cut.offsets[t + 1]);
    graph.snapshots.push_back(builder.build(first, last));
    count_degrees(events, first, last, graph.features.data() + t * step_features);
  }
  return graph;
}

double mean_overlap(const SnapshotGraph& graph) {
  double sum = 0;
  std::int64_t compared = 0;
  for (std::size_t t = 1; t < graph.snapshots.size(); ++t) {
    const Snapshot& now = *graph.snapshots[t];
    if (now.nonzeros() == 0) continue;
    sum += static_cast<double>(common_edges(*graph.snapshots[t - 1], now)) / static_cast<double>(now.nonzeros());
    ++compared;
  }
  return compared == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(compared);
}

}  // namespace strobe
