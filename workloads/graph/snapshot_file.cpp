// Shared parts of the formats of snapshot files. Snapshots that steps share stay shared under every option.
#include "workloads/graph/snapshot_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/file_options.hpp"
#include "workloads/graph/step_shelf.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

/// The arrays of a snapshot under way.
struct Rows {
  std::vector<std::int64_t> offsets{0};
  GrowingColumn<VertexId> columns{};
  GrowingColumn<float> values{};
  GrowingColumn<double> exact{};
};

/// Sorts a row's columns and adds the weights of equal ones: exactly, and as rounded to fp32. Returns the number of
/// entries removed.
std::int64_t append_row(std::span<SnapshotEdge> row, Rows& to) {
  std::stable_sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.source < b.source; });
  std::int64_t merged = 0;
  for (std::size_t i = 0; i < row.size();) {
    const VertexId column = row[i].source;
    double sum = 0, exact_sum = 0;
    std::size_t next = i;
    for (; next < row.size() && row[next].source == column; ++next) {
      sum += static_cast<double>(static_cast<float>(row[next].weight));
      exact_sum += row[next].weight;
    }
    to.exact.push_back(exact_sum);
    merged += static_cast<std::int64_t>(next - i) - 1;
    to.columns.push_back(column);
    to.values.push_back(static_cast<float>(sum));
    i = next;
  }
  to.offsets.push_back(static_cast<std::int64_t>(to.columns.size()));
  return merged;
}

Column<double> doubles_of(const Snapshot& snapshot) {
  if (!snapshot.exact_values.empty()) return snapshot.exact_values;
  GrowingColumn<double> values;
  values.reserve(snapshot.values.size());
  for (const float value : snapshot.values) values.push_back(static_cast<double>(value));
  return values.finish();
}

std::shared_ptr<const Snapshot> transformed(const Snapshot& from, const std::string& orientation, bool binary) {
  const auto vertices = static_cast<std::int64_t>(from.row_offsets.size()) - 1;
  GrowingColumn<SnapshotEdge> edges, exact;
  for (std::int64_t v = 0; v < vertices; ++v) {
    for (auto i = from.row_offsets[v]; i < from.row_offsets[static_cast<std::size_t>(v) + 1]; ++i) {
      const std::size_t at = i;
      const auto row = static_cast<VertexId>(v);
      const bool is_there = orientation == "both" && from.columns[at] == row;  // a loop is its own reverse
      const auto add = [&](GrowingColumn<SnapshotEdge>& to, double weight) {
        if (orientation != "out") to.push_back({from.columns[at], row, weight});
        if (orientation != "in" && !is_there) to.push_back({row, from.columns[at], weight});
      };
      add(edges, static_cast<double>(from.values[at]));
      if (!from.exact_values.empty()) add(exact, from.exact_values[at]);
    }
  }
  Provenance ignored;
  auto result = std::make_shared<Snapshot>(*make_snapshot(vertices, edges, ignored));
  if (!exact.empty())
    result->exact_values = where_rounded(doubles_of(*make_snapshot(vertices, exact, ignored)), result->values);
  if (!binary) return result;
  result->values.assign(result->values.size(), 1.0f);
  result->exact_values.clear();
  return result;
}

void refuse_windows(const FileOptions& options, const std::string& path) {
  const auto refuse = [&](bool given, const char* option) {
    if (given)
      throw InvalidRequest(option, path + " holds steps already, they cannot be cut again; leave the option out");
  };
  refuse(!options.window.empty(), "window");
  refuse(options.window_events != 0, "window_events");
  refuse(options.window_count != 0, "window_count");
  refuse(options.partial != "keep", "partial");
  refuse(options.cumulative, "cumulative");
  refuse(!options.stride.empty(), "stride");
  refuse(options.lags != 0, "lags");
  refuse(options.edge_life != 1, "edge_life");
  refuse(options.min_edges != 0, "min_edges");
  refuse(!options.steps.empty(), "steps");
  refuse(options.outliers != "keep", "outliers");
  if (options.ids == "offset")
    throw InvalidRequest("ids", path + " numbers one set of vertices; ids=offset is for files with two sides");
}

}  // namespace

std::shared_ptr<const Snapshot> make_snapshot(std::int64_t vertices, std::span<const SnapshotEdge> edges,
                                              Provenance& provenance) {
  const std::size_t n = vertices;
  std::vector<std::size_t> end(n + 1, 0);
  for (const SnapshotEdge& edge : edges) {
    ++end[static_cast<std::size_t>(edge.target) + 1];
    provenance.self_loops += edge.source == edge.target;
  }
  for (std::size_t v = 0; v < n; ++v) end[v + 1] += end[v];
  GrowingColumn<SnapshotEdge> by_row(edges.size(), reading_bound());
  for (const SnapshotEdge& edge : edges) by_row[end[edge.target]++] = edge;
  Rows rows;
  rows.offsets.reserve(n + 1);
  for (std::size_t v = 0, begin = 0; v < n; begin = end[v++])
    provenance.duplicates += append_row(std::span(by_row.data() + begin, end[v] - begin), rows);
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->row_offsets = std::move(rows.offsets);
  snapshot->columns = rows.columns.finish();
  snapshot->values = rows.values.finish();
  snapshot->exact_values = where_rounded(rows.exact.finish(), snapshot->values);
  provenance.rows += static_cast<std::int64_t>(edges.size());
  return snapshot;
}

void describe_file(const std::string& path, const std::string& format, Provenance& provenance) {
  provenance.name = std::filesystem::path(path).filename().string();
  provenance.format = format;
  provenance.source = path;
  provenance.sha256 = sha256_file(path);
}

Column<float> next_step_targets(std::span<const double> series, std::int64_t vertices) {
  GrowingColumn<float> targets(series.size(), reading_bound());
  const std::size_t last = series.size() - static_cast<std::size_t>(vertices);
  for (std::size_t i = 0; i < last; ++i) targets[i] = static_cast<float>(series[i + vertices]);
  std::fill(targets.begin() + last, targets.end(), std::numeric_limits<float>::quiet_NaN());
  return targets.finish();
}

namespace {

/// The orientation after `turn` is applied to rows of orientation `before`.
std::string turned(const std::string& before, const std::string& turn) {
  if (before == "both" || turn == "both") return "both";
  return before == turn ? "in" : "out";
}

}  // namespace

void apply_options(const FileOptions& options, SnapshotGraph& graph) {
  refuse_windows(options, graph.provenance.source);
  const bool binary = options.weights == "binary";
  if (options.orientation == "in" && !binary) return;
  graph.orientation = turned(graph.orientation, options.orientation);
  StepShelf shelf;
  std::map<const Snapshot*, std::shared_ptr<const Snapshot>> done;
  for (auto& snapshot : graph.snapshots) {
    auto& result = done[snapshot.get()];
    if (!result) result = shelf.keep(transformed(*snapshot, options.orientation, binary));
  }
  for (auto& snapshot : graph.snapshots) snapshot = done[snapshot.get()];
}

double missing_value(const std::string& text, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) return value;
  throw InvalidRequest(where, fmt::format("'{}' is not a finite number", text));
}

void leave_out_missing(const std::string& missing, SnapshotGraph& graph) {
  constexpr std::int64_t one_in = 20;  // zeros that are worth a note
  if (!missing.empty() && graph.targets.empty())
    throw InvalidRequest("missing", graph.provenance.source + " has no targets that could be missing");
  const double value = missing.empty() ? 0 : missing_value(missing, "missing");
  const auto measured = [](float target) { return !std::isnan(target); };
  const auto equal = [&](float target) { return target == static_cast<float>(value); };
  const std::int64_t all = std::count_if(graph.targets.begin(), graph.targets.end(), measured);
  const std::int64_t found = std::count_if(graph.targets.begin(), graph.targets.end(), equal);
  if (!missing.empty()) {
    const std::span<float> targets = graph.targets.edit();
    std::replace_if(targets.begin(), targets.end(), equal, std::numeric_limits<float>::quiet_NaN());
    graph.provenance.notes.push_back(
        fmt::format("missing={}: {} of {} targets are not measured and left out", missing, found, all));
  } else if (found < all && found * one_in >= all) {
    std::vector<std::string>& notes = graph.provenance.notes;
    const std::string note = fmt::format(
        "{} of {} targets are 0; if 0 means that nothing was measured, missing=0 leaves them out", found, all);
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);  // binary snapshots keep it
  }
}

namespace {

/// Refuses entry i of row v of a step.
[[noreturn]] void refuse_value(const SnapshotGraph& graph, const std::string& path, const EventGraph* events,
                               std::size_t step, std::size_t row, std::size_t column) {
  const bool rows_are_targets = graph.orientation != "out";
  const auto name = [&](std::size_t v) {
    return events == nullptr ? static_cast<std::int64_t>(v) : events->original_id[v];
  };
  throw InvalidInput(path, 0, 0,
                     fmt::format("the weights of parallel edges add up beyond what fp32 holds: those of vertex {} {} "
                                 "vertex {} in step {}; weights=count or binary does without them",
                                 name(rows_are_targets ? column : row), graph.orientation == "both" ? "and" : "to",
                                 name(rows_are_targets ? row : column), step));
}

}  // namespace

void refuse_overflow(const SnapshotGraph& graph, const std::string& path, const EventGraph* events) {
  const Snapshot* checked = nullptr;  // steps of a static graph share one snapshot
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    if (&snapshot == checked) continue;
    checked = &snapshot;
    const auto bad =
        std::find_if(snapshot.values.begin(), snapshot.values.end(), [](float value) { return !std::isfinite(value); });
    if (bad == snapshot.values.end()) continue;
    const std::size_t at = bad - snapshot.values.begin();
    const auto row =
        std::upper_bound(snapshot.row_offsets.begin(), snapshot.row_offsets.end(), static_cast<std::int64_t>(at));
    refuse_value(graph, path, events, t, static_cast<std::size_t>(row - snapshot.row_offsets.begin()) - 1,
                 static_cast<std::size_t>(snapshot.columns[at]));
  }
}

}  // namespace strobe
