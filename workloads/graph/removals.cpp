// Plays rows that add and remove edges. An addition counts in a step when the next removal of its edge lies after the
// step's rows. So one look at the position of that removal decides for every step. Cost: O(E log E) once, then the rows
// of each step; cumulative steps read all rows before them again.
#include "workloads/graph/removals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace strobe {
namespace {

bool removes(const EventGraph& events, std::size_t e) { return events.weight[e] < 0; }

/// The events of one edge after the other, each in time order.
std::vector<std::int64_t> order_by_edge(const EventGraph& events) {
  std::vector<std::int64_t> order(events.source.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto key = [&](std::int64_t e) {
    const std::size_t at = e;
    return std::tuple(events.source[at], events.target[at], e);
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  return order;
}

/// Calls visit(events of the edge) for every edge.
template <class Visit>
void for_each_edge(const EventGraph& events, const std::vector<std::int64_t>& order, Visit&& visit) {
  const auto same = [&](std::int64_t a, std::int64_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return events.source[i] == events.source[j] && events.target[i] == events.target[j];
  };
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && same(order[begin], order[end])) ++end;
    visit(std::span(order).subspan(begin, end - begin));
  }
}

/// For every addition the position of the next removal of its edge, the number of events without one; 0 for removals.
std::vector<std::int64_t> next_removals(const EventGraph& events) {
  std::vector<std::int64_t> next(events.source.size(), 0);
  for_each_edge(events, order_by_edge(events), [&](std::span<const std::int64_t> rows) {
    std::int64_t removal = events.events();
    for (std::size_t i = rows.size(); i-- > 0;) {
      const std::size_t e = rows[i];
      if (removes(events, e))
        removal = rows[i];
      else
        next[e] = removal;
    }
  });
  return next;
}

/// One step of the additions among the rows [first, last) that no later one of these rows removes.
SnapshotGraph play(const EventGraph& events, const std::vector<std::int64_t>& next, std::int64_t first,
                   std::int64_t last, const std::string& weights, const std::string& orientation) {
  EventGraph left;
  left.vertices = events.vertices;
  std::vector<VertexId> source, target;
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
  left.time = std::vector<double>(source.size(), 0.0);
  left.weight = std::vector<float>(source.size(), 1.0f);
  left.original_id = events.original_id;
  left.source = std::move(source);
  left.target = std::move(target);
  Windowing one;
  one.count = 1;
  one.weights = weights;
  return make_snapshots(left, one, orientation);
}

/// Puts the features of the one step of `from` in the place of those of step `t`.
void replace_features(const SnapshotGraph& from, std::size_t t, SnapshotGraph& graph) {
  const std::ptrdiff_t begin = t * from.features.size();
  std::copy(from.features.begin(), from.features.end(), graph.features.edit().begin() + begin);
  if (!from.exact_features.empty() && graph.exact_features.empty())
    graph.exact_features = std::vector<double>(graph.features.begin(), graph.features.end());
  if (graph.exact_features.empty()) return;
  if (from.exact_features.empty())
    std::copy(from.features.begin(), from.features.end(), graph.exact_features.edit().begin() + begin);
  else
    std::copy(from.exact_features.begin(), from.exact_features.end(), graph.exact_features.edit().begin() + begin);
}

}  // namespace

std::int64_t count_removals(const EventGraph& events) {
  if (!events.removals) return 0;
  return std::count_if(events.weight.begin(), events.weight.end(), [](float weight) { return weight < 0; });
}

void settle_removals(EventGraph& events) {
  events.removals = true;
  std::int64_t absent = 0, duplicates = 0, loops = 0;
  for_each_edge(events, order_by_edge(events), [&](std::span<const std::int64_t> rows) {
    bool there = false;
    std::int64_t added = -1;  // the last addition
    for (const std::int64_t row : rows) {
      const std::size_t e = row;
      const bool removal = removes(events, e);
      absent += removal && !there;
      there = !removal;
      if (removal) continue;
      duplicates += added >= 0 && events.time[added] == events.time[e];
      loops += events.source[e] == events.target[e];
      added = row;
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
  std::vector<std::int64_t> position;
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    if (removes(events, e)) continue;
    position.push_back(static_cast<std::int64_t>(e));
    added.source.push_back(events.source[e]);
    added.target.push_back(events.target[e]);
    added.time.push_back(events.time[e]);
  }
  StepCut cut = cut_steps(added, windowing);
  const std::int64_t additions = added.events();
  const auto in_file = [&](std::int64_t i) { return i == 0 ? 0 : i == additions ? events.events() : position[i]; };
  for (std::int64_t& first : cut.first) first = in_file(first);
  for (std::int64_t& last : cut.last) last = in_file(last);
  return cut;
}

void apply_removals(const EventGraph& events, const StepCut& cut, const Windowing& windowing,
                    const std::string& orientation, SnapshotGraph& graph) {
  const std::vector<std::int64_t> next = next_removals(events);
  graph.exact_features.clear();
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const std::size_t life = static_cast<std::size_t>(windowing.edge_life) - 1;
    const std::int64_t first = windowing.cumulative ? 0 : cut.first[t - std::min(life, t)];
    const SnapshotGraph step = play(events, next, first, cut.last[t], windowing.weights, orientation);
    graph.snapshots[t] = step.snapshots.front();
    const bool raw = windowing.edge_life > 1;
    replace_features(raw ? play(events, next, cut.first[t], cut.last[t], windowing.weights, orientation) : step, t,
                     graph);
  }
}

}  // namespace strobe
