// Plays rows that add and remove edges. An addition counts in a step when the next removal of its edge lies after the
// step's rows. So one look at the position of that removal decides for every step. Cost: O(E log E) once, then the rows
// of each step; cumulative steps read all rows before them again.
#include "workloads/graph/removals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <span>

#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

bool removes(const EventGraph& events, std::size_t e) { return events.weight[e] < 0; }

/// An event of an edge.
struct EdgeRow {
  std::uint64_t edge;  // source and target
  std::int64_t event;
  friend auto operator<=>(const EdgeRow&, const EdgeRow&) = default;
};

/// Calls visit(rows of the edge, in time order) for every edge. Under a bound of memory, the events are read several
/// times, each time those of one share of the edges.
template <class Visit>
void for_each_edge(const EventGraph& events, Visit&& visit) {
  constexpr std::size_t least_rows = std::size_t{1} << 16;
  const ReadingBound* const bound = reading_bound();
  const std::size_t count = events.source.size();
  const std::size_t room =
      bound == nullptr ? count + 1 : std::max<std::size_t>(least_rows, bound->run_bytes() / sizeof(EdgeRow));
  const std::size_t passes = count / room + 1;
  std::vector<EdgeRow> rows;
  rows.reserve(std::min(count, room));
  for (std::size_t pass = 0; pass < passes; ++pass) {
    rows.clear();
    for (std::size_t e = 0; e < count; ++e) {
      const std::uint64_t edge =
          static_cast<std::uint64_t>(events.source[e]) << 32 | static_cast<std::uint32_t>(events.target[e]);
      if (passes == 1 || (edge * 0x9e3779b97f4a7c15U >> 32) % passes == pass)
        rows.push_back({edge, static_cast<std::int64_t>(e)});
    }
    std::sort(rows.begin(), rows.end());
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      while (end < rows.size() && rows[begin].edge == rows[end].edge) ++end;
      visit(std::span(rows).subspan(begin, end - begin));
    }
  }
}

/// For every addition the position of the next removal of its edge, the number of events without one; 0 for removals.
Column<std::int64_t> next_removals(const EventGraph& events) {
  GrowingColumn<std::int64_t> next(events.source.size(), reading_bound());
  for_each_edge(events, [&](std::span<const EdgeRow> rows) {
    std::int64_t removal = events.events();
    for (std::size_t i = rows.size(); i-- > 0;) {
      const auto e = static_cast<std::size_t>(rows[i].event);
      if (removes(events, e))
        removal = rows[i].event;
      else
        next[e] = removal;
    }
  });
  return next.finish();
}

/// One step of the additions among the rows [first, last) that no later one of these rows removes.
SnapshotGraph play(const EventGraph& events, const Column<std::int64_t>& next, std::int64_t first, std::int64_t last,
                   const std::string& weights, const std::string& orientation) {
  EventGraph left;
  left.vertices = events.vertices;
  GrowingColumn<VertexId> source, target;
  for (std::size_t e = first; e < static_cast<std::size_t>(last); ++e) {
    if (next[e] < last) continue;
    source.push_back(events.source[e]);
    target.push_back(events.target[e]);
  }
  if (source.empty()) {
    SnapshotGraph nothing;
    auto empty = std::make_shared<Snapshot>();
    empty->row_offsets.assign(static_cast<std::size_t>(events.vertices) + 1, 0);
    nothing.snapshots = {empty};
    nothing.features.assign(events.vertices * 2, 0.0f);
    return nothing;
  }
  left.time = GrowingColumn<double>(source.size(), reading_bound()).finish();
  if (weights == "file") {
    GrowingColumn<float> ones(source.size(), reading_bound());
    std::fill(ones.begin(), ones.end(), 1.0f);
    left.weight = ones.finish();
  }
  left.original_id = events.original_id;
  left.source = source.finish();
  left.target = target.finish();
  Windowing one;
  one.count = 1;
  one.weights = weights;
  return make_snapshots(left, one, orientation);
}

/// The features of all steps, which arrive one after the other.
class PlayedFeatures {
 public:
  void add(const SnapshotGraph& step) {
    if (!step.exact_features.empty() && !keeps_exact_) {
      for (std::size_t i = 0; i < rounded_.size(); ++i) exact_.push_back(static_cast<double>(rounded_[i]));
      keeps_exact_ = true;
    }
    rounded_.append(step.features.data(), step.features.size());
    if (!keeps_exact_) return;
    for (std::size_t i = 0; i < step.features.size(); ++i)
      exact_.push_back(step.exact_features.empty() ? static_cast<double>(step.features[i]) : step.exact_features[i]);
  }
  void finish(SnapshotGraph& graph) {
    graph.features = rounded_.finish();
    graph.exact_features = exact_.finish();
  }

 private:
  GrowingColumn<float> rounded_;
  GrowingColumn<double> exact_;  // or empty: fp32 holds every feature
  bool keeps_exact_ = false;
};

}  // namespace

std::int64_t count_removals(const EventGraph& events) {
  if (!events.removals) return 0;
  return std::count_if(events.weight.begin(), events.weight.end(), [](float weight) { return weight < 0; });
}

void settle_removals(EventGraph& events) {
  events.removals = true;
  std::int64_t absent = 0, duplicates = 0, loops = 0;
  for_each_edge(events, [&](std::span<const EdgeRow> rows) {
    bool there = false;
    std::int64_t added = -1;  // the last addition
    for (const EdgeRow& row : rows) {
      const auto e = static_cast<std::size_t>(row.event);
      const bool removal = removes(events, e);
      absent += removal && !there;
      there = !removal;
      if (removal) continue;
      duplicates += added >= 0 && events.time[added] == events.time[e];
      loops += events.source[e] == events.target[e];
      added = row.event;
    }
  });
  events.provenance.duplicates = duplicates;
  events.provenance.self_loops = loops;
  const std::int64_t removals = count_removals(events);
  events.provenance.notes.push_back(fmt::format(
      "{} rows of weight -1 remove an edge and are no events; {} of them remove one that is not there and do "
      "nothing",
      removals, absent));
}

StepCut cut_steps_with_removals(const EventGraph& events, const Windowing& windowing) {
  if (windowing.events == 0) return cut_steps(events, windowing);
  EventGraph added;
  added.vertices = events.vertices;
  GrowingColumn<std::int64_t> position;
  GrowingColumn<VertexId> source, target;
  GrowingColumn<double> time;
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    if (removes(events, e)) continue;
    position.push_back(static_cast<std::int64_t>(e));
    source.push_back(events.source[e]), target.push_back(events.target[e]), time.push_back(events.time[e]);
  }
  added.source = source.finish(), added.target = target.finish(), added.time = TimeColumn(time.finish());
  StepCut cut = cut_steps(added, windowing);
  const std::int64_t additions = added.events();
  const auto in_file = [&](std::int64_t i) { return i == 0 ? 0 : i == additions ? events.events() : position[i]; };
  for (std::int64_t& first : cut.first) first = in_file(first);
  for (std::int64_t& last : cut.last) last = in_file(last);
  return cut;
}

void apply_removals(const EventGraph& events, const StepCut& cut, const Windowing& windowing,
                    const std::string& orientation, StepShelf& shelf, SnapshotGraph& graph) {
  const Column<std::int64_t> next = next_removals(events);
  PlayedFeatures features;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const std::size_t life = static_cast<std::size_t>(windowing.edge_life) - 1;
    const std::int64_t first = windowing.cumulative ? 0 : cut.first[t - std::min(life, t)];
    const SnapshotGraph step = play(events, next, first, cut.last[t], windowing.weights, orientation);
    graph.snapshots[t] = shelf.keep(step.snapshots.front());
    const bool raw = windowing.edge_life > 1;
    features.add(raw ? play(events, next, cut.first[t], cut.last[t], windowing.weights, orientation) : step);
  }
  features.finish(graph);
}

}  // namespace strobe
