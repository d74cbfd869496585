// A counting sort of the entries by their vertex, then each list is sorted and equal neighbours become one.
#include "workloads/partitioners/vertex_lists.hpp"

#include <algorithm>

#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

/// Calls visit(place, other) for both ends of every entry whose ends differ, where the end is `vertices.first` + place.
template <class Visit>
void for_ends_in(const RowShare& rows, Run vertices, const Visit& visit) {
  const auto inside = [&](std::int64_t v) { return v >= vertices.first && v < vertices.first + vertices.count; };
  const auto visit_ends = [&](VertexId read, VertexId reader) {
    if (inside(reader)) visit(reader - vertices.first, read);
    if (inside(read)) visit(read - vertices.first, reader);
  };
  for (Step t = 0; t < rows.graph.steps; ++t) rows.for_readings(t, visit_ends, [](VertexId) {});
}

/// Sorts one list and moves it, each neighbour once, to the end of `lists`.
void merge_list(VertexId* first, VertexId* last, VertexLists& lists, std::int64_t& kept) {
  std::sort(first, last);
  for (const VertexId* at = first; at < last;) {
    const VertexId* next = std::upper_bound(at, static_cast<const VertexId*>(last), *at);
    lists.weights.push_back(static_cast<std::int32_t>(next - at));
    lists.neighbours[kept++] = *at;  // at or before `at`
    at = next;
  }
}

}  // namespace

VertexLists merged_lists(const PreparedGraph& graph, Run vertices) {
  return merged_lists({graph, {0, graph.vertices}, {}}, vertices);
}

VertexLists merged_lists(const RowShare& rows, Run vertices) {
  const std::size_t count = vertices.count;
  VertexLists lists{vertices, std::vector<std::int64_t>(count + 1), {}, {}, vertex_work(rows.graph, vertices)};
  std::vector<std::int64_t> next(count + 1);
  for_ends_in(rows, vertices, [&](std::int64_t place, VertexId) { ++next[place + 1]; });
  for (std::size_t i = 0; i < count; ++i) next[i + 1] += next[i];
  const std::vector<std::int64_t> begin = next;
  lists.neighbours.resize(begin.back());
  for_ends_in(rows, vertices, [&](std::int64_t place, VertexId other) { lists.neighbours[next[place]++] = other; });
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    VertexId* entries = lists.neighbours.data();
    merge_list(entries + begin[i], entries + begin[i + 1], lists, kept);
    lists.offsets[i + 1] = kept;
  }
  lists.neighbours.resize(kept);
  return lists;
}

}  // namespace strobe
