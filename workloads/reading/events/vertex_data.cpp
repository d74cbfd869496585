// Vertex features and timed classes on the steps of a graph. Cost: O(T N F) for features, O(L log T) for L labels.
#include "workloads/reading/events/vertex_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "workloads/graph/growing_labels.hpp"
#include "workloads/reading/text/npy.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

void check_memory(const SnapshotGraph& graph, std::int64_t width, bool exact = false) {
  const double bytes = static_cast<double>(graph.steps()) * static_cast<double>(graph.vertices) *
                       static_cast<double>(width) * (exact ? sizeof(float) + sizeof(double) : sizeof(float));
  const double memory = usable_memory_bytes();
  if (bytes <= memory) return;
  throw InvalidRequest(
      "features", fmt::format("{} features of {} vertices in {} steps need {}, this machine has {}", width,
                              format_count(graph.vertices), graph.steps(), format_bytes(bytes), format_bytes(memory)));
}

/// The values of one step in every step.
template <class T>
Column<T> repeated(const Column<T>& values, std::int64_t steps) {
  GrowingColumn<T> all;
  all.reserve(values.size() * static_cast<std::size_t>(steps));
  for (std::int64_t t = 0; t < steps; ++t) all.append(values.data(), values.size());
  return all.finish();
}

/// Sets features [N, F], the same in every step, or [T, N, F]; `exact` may be empty.
void put_features(Column<float> features, Column<double> exact, std::int64_t width, SnapshotGraph& graph) {
  check_memory(graph, width, !exact.empty());
  const bool of_vertices = features.size() == static_cast<std::size_t>(graph.vertices * width);
  graph.feature_width = width;
  graph.degree_features = false;
  graph.features = of_vertices ? repeated(features, graph.steps()) : std::move(features);
  graph.exact_features = of_vertices ? repeated(exact, graph.steps()) : std::move(exact);
}

double feature(const NpyArray& array, std::int64_t i, const std::string& file) {
  const double value = array.at(i);
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())))
    throw InvalidInput(file, 0, 0, fmt::format("element {} is {}, which is not a finite fp32 number", i, value));
  return value;
}

/// Row of every vertex in an array of `rows` rows.
std::vector<std::int64_t> rows_of_vertices(const EventGraph* events, std::int64_t vertices, std::int64_t rows,
                                           const std::string& file) {
  std::vector<std::int64_t> row(vertices);
  std::iota(row.begin(), row.end(), std::int64_t{0});
  if (rows == vertices) return row;
  const bool by_id = events != nullptr && rows > vertices && rows > events->original_id.back();
  if (!by_id) {
    throw InvalidInput(
        file, 0, 0,
        fmt::format("the array has {} rows for {} vertices{}", rows, vertices,
                    events == nullptr ? "" : fmt::format(" with ids up to {}", events->original_id.back())));
  }
  std::copy(events->original_id.begin(), events->original_id.end(), row.begin());
  return row;
}

void features_from_npy(const EventGraph* events, const std::string& file, SnapshotGraph& graph) {
  const NpyArray shape = read_npy_header(file);
  const std::size_t axes = shape.shape.size();
  if (axes != 2 && axes != 3)
    throw InvalidInput(file, 0, 0,
                       fmt::format("expected [vertices, features] or [steps, vertices, features], found {} "
                                   "axes",
                                   axes));
  const std::int64_t steps = axes == 3 ? shape.shape[0] : 1, rows = shape.shape[axes - 2],
                     width = shape.shape[axes - 1];
  if (axes == 3 && steps != graph.steps())
    throw InvalidInput(file, 0, 0, fmt::format("the array has {} steps, the graph has {}", steps, graph.steps()));
  if (width == 0) throw InvalidInput(file, 0, 0, "the array has no features");
  const std::vector<std::int64_t> row = rows_of_vertices(events, graph.vertices, rows, file);
  check_memory(graph, width);
  const NpyArray array = map_npy(file);
  const auto for_each = [&](const auto& visit) {
    for (std::int64_t t = 0; t < steps; ++t)
      for (const std::int64_t r : row)
        for (std::int64_t i = 0; i < width; ++i) visit(feature(array, (t * rows + r) * width + i, file));
  };
  GrowingColumn<float> rounded;
  GrowingColumn<double> exact;
  const auto size = static_cast<std::size_t>(steps * graph.vertices * width);
  rounded.reserve(size);
  bool any_rounded = false;
  for_each([&](double value) {
    rounded.push_back(static_cast<float>(value));
    any_rounded |= static_cast<double>(static_cast<float>(value)) != value;
  });
  if (any_rounded) {
    exact.reserve(size);
    for_each([&](double value) { exact.push_back(value); });
  }
  put_features(rounded.finish(), exact.finish(), width, graph);
}

}  // namespace

VertexId find_vertex(const EventGraph& graph, std::int64_t original_id) {
  const auto at = std::lower_bound(graph.original_id.begin(), graph.original_id.end(), original_id);
  const bool found = at != graph.original_id.end() && *at == original_id;
  return found ? static_cast<VertexId>(at - graph.original_id.begin()) : -1;
}

void sort_by_time(TimedLabels& labels) {
  struct Place {
    double time;
    std::size_t at;
    bool operator<(const Place& other) const { return time < other.time || (time == other.time && at < other.at); }
  };
  if (std::is_sorted(labels.time.begin(), labels.time.end())) return;
  GrowingColumn<Place> order;
  order.reserve(labels.time.size());
  for (std::size_t i = 0; i < labels.time.size(); ++i) order.push_back({labels.time[i], i});
  std::sort(order.begin(), order.end());  // in place, so that it stays in its file
  GrowingLabels sorted;
  for (const auto& [time, at] : order) sorted.add(labels.vertex[at], time, labels.label[at], labels.share[at]);
  labels = sorted.finish();
}

void set_features(const EventGraph* events, const std::string& features, SnapshotGraph& graph) {
  if (features.empty()) return;
  if (features != "own") {
    features_from_npy(events, features, graph);
    graph.provenance.notes.push_back(fmt::format("features are those of {}, {} for a vertex",
                                                 std::filesystem::path(features).filename().string(),
                                                 graph.feature_width));
    return;
  }
  if (events == nullptr) return;
  if (events->vertex_feature_width == 0)
    throw InvalidRequest("features", "features=own, but the file brings no vertex features");
  put_features(events->vertex_features, {}, events->vertex_feature_width, graph);
}

namespace {

const std::string note_begin = "labels: ";

/// Where labels belong, and how many belong nowhere.
class LabelledSteps {
 public:
  LabelledSteps(const StepCut& kept, bool before) : kept_(kept), before_(before) {}

  /// The step of a label of this time, -1 when there is none.
  std::int64_t find(double time) {
    const std::vector<double>& from = before_ ? kept_.end : kept_.begin;
    const std::vector<double>& until = before_ ? kept_.next_end : kept_.end;
    const auto step = std::upper_bound(from.begin(), from.end(), time) - from.begin() - 1;
    if (step >= 0 && time < until[step]) return step;
    if (time < (before_ ? kept_.first_end : kept_.from))
      ++early_;
    else if (time < (before_ ? kept_.next_until : kept_.until))
      ++dropped_;
    else
      ++late_;
    return -1;
  }

  void count_large_class() { ++large_; }

  void note(std::int32_t largest, std::size_t labels, std::vector<std::string>& notes) const {
    notes.push_back(note_begin + (before_ ? "each belongs to the last step that ends at or before its time (before)"
                                          : "each belongs to the step that holds its time (within)"));
    std::vector<std::string> causes;
    const auto add = [&](std::int64_t count, const std::string& cause) {
      if (count > 0) causes.push_back(fmt::format("{} {}", count, cause));
    };
    add(early_, before_ ? "before the end of the first step" : "before the first step");
    add(dropped_, "of steps that were dropped");
    add(late_, "after the last step");
    add(large_, fmt::format("of a class beyond {}", largest));
    if (causes.empty()) return;
    notes.push_back(fmt::format("{}{} of {} are left out, {}", note_begin, early_ + dropped_ + late_ + large_, labels,
                                fmt::join(causes, ", ")));
  }

 private:
  const StepCut& kept_;
  bool before_;
  std::int64_t early_ = 0, dropped_ = 0, late_ = 0, large_ = 0;
};

}  // namespace

void set_cell_labels(const EventGraph& events, const StepCut& kept, const std::string& rule, SnapshotGraph& graph) {
  const TimedLabels& labels = events.timed_labels;
  if (rule != "auto" && rule != "before" && rule != "within")
    throw InvalidRequest("labels", unknown_name_message("rule of labels", rule, {"auto", "before", "within"}));
  if (labels.time.empty()) return;
  constexpr std::int32_t largest = std::numeric_limits<std::int8_t>::max();
  LabelledSteps steps(kept, rule == "before" || (rule == "auto" && events.labels_before));
  const std::size_t cells = graph.steps() * graph.vertices;
  GrowingColumn<std::int8_t> label(cells, reading_bound());
  GrowingColumn<double> time(cells, reading_bound());
  GrowingColumn<float> share(cells, reading_bound());
  std::fill_n(label.data(), cells, std::int8_t{-1});
  std::fill_n(time.data(), cells, -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < labels.time.size(); ++i) {
    if (labels.label[i] > largest) {
      steps.count_large_class();
      continue;
    }
    const std::int64_t t = steps.find(labels.time[i]);
    if (t < 0) continue;
    const std::size_t cell = t * graph.vertices + labels.vertex[i];
    if (time[cell] == labels.time[i] && share[cell] >= labels.share[i]) continue;
    time[cell] = labels.time[i];
    share[cell] = labels.share[i];
    label[cell] = static_cast<std::int8_t>(labels.label[i]);
  }
  graph.cell_label = label.finish();
  steps.note(largest, labels.time.size(), graph.provenance.notes);
}

namespace {

constexpr std::string_view labels_are_of_events = "labels are of events, not of vertices";

}  // namespace

void note_event_labels(const EventGraph& events, Provenance& provenance) {
  if (events.event_label.empty()) return;
  const auto zero = std::count(events.event_label.begin(), events.event_label.end(), std::int8_t{0});
  provenance.notes.push_back(fmt::format("{} ({} of {} are not 0): steps do not hold them", labels_are_of_events,
                                         events.events() - zero, events.events()));
}

std::string event_labels_note(const Provenance& provenance) {
  for (const std::string& note : provenance.notes)
    if (note.starts_with(labels_are_of_events)) return note;
  return {};
}

}  // namespace strobe
