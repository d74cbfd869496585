#include "models/tasks/future_links/first_meetings.hpp"

#include <algorithm>

#include "workloads/storage/growing_column.hpp"

namespace strobe {

std::vector<char> first_meeting_flags(const EventGraph& graph) {
  const FirstMeetings meetings(graph);
  std::vector<char> first(graph.source.size(), 0);
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    for (const auto& meeting : meetings.between(static_cast<VertexId>(v), 0, graph.events())) first[meeting.event] = 1;
  }
  return first;
}

FirstMeetings::FirstMeetings(const EventGraph& graph) {
  const auto vertices = static_cast<std::size_t>(graph.vertices), events = graph.source.size();
  GrowingColumn<std::int64_t> begin(vertices + 1, reading_bound()), next(vertices, reading_bound());
  for (std::size_t e = 0; e < events; ++e) ++begin[static_cast<std::size_t>(graph.source[e]) + 1];
  for (std::size_t v = 0; v < vertices; ++v) begin[v + 1] += begin[v], next[v] = begin[v];
  GrowingColumn<Meeting> meetings(events, reading_bound());
  for (std::size_t e = 0; e < events; ++e)
    meetings[next[graph.source[e]]++] = {graph.target[e], static_cast<EdgeId>(e)};
  // Keeps the first of each pair, source by source.
  GrowingColumn<std::int64_t> last(vertices, reading_bound());  // the source that met the vertex last, from 1 on
  std::int64_t kept = 0, from = 0;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::int64_t end = begin[v + 1];
    for (; from < end; ++from) {
      const Meeting meeting = meetings[from];
      if (last[meeting.target] == static_cast<std::int64_t>(v) + 1) continue;
      last[meeting.target] = static_cast<std::int64_t>(v) + 1;
      meetings[kept++] = meeting;
    }
    begin[v + 1] = kept;
  }
  meetings.shrink(static_cast<std::size_t>(kept));
  meetings.fit();
  begin_ = begin.finish(), meetings_ = meetings.finish();
}

std::span<const FirstMeetings::Meeting> FirstMeetings::between(VertexId source, EdgeId first, EdgeId last) const {
  const Meeting *const own = meetings_.data() + begin_[source], *const end = meetings_.data() + begin_[source + 1];
  const auto earlier = [](EdgeId bound) { return [bound](const Meeting& m) { return m.event < bound; }; };
  const auto from = std::partition_point(own, end, earlier(first)), to = std::partition_point(from, end, earlier(last));
  return {from, static_cast<std::size_t>(to - from)};
}

}  // namespace strobe
