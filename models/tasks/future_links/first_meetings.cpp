#include "models/tasks/future_links/first_meetings.hpp"

#include <algorithm>
#include <unordered_set>

namespace strobe {

std::vector<char> first_meeting_flags(const EventGraph& graph) {
  std::unordered_set<std::uint64_t> met;
  std::vector<char> first(graph.source.size(), 0);
  for (std::size_t e = 0; e < first.size(); ++e)
    first[e] = met.insert((static_cast<std::uint64_t>(graph.source[e]) << 32) | graph.target[e]).second ? 1 : 0;
  return first;
}

FirstMeetings::FirstMeetings(const EventGraph& graph) : begin_(static_cast<std::size_t>(graph.vertices) + 1, 0) {
  const std::vector<char> first = first_meeting_flags(graph);
  for (std::size_t e = 0; e < first.size(); ++e) begin_[static_cast<std::size_t>(graph.source[e]) + 1] += first[e];
  for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
  meetings_.resize(begin_.back());
  std::vector<std::int64_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t e = 0; e < first.size(); ++e) {
    if (first[e] != 0) meetings_[next[graph.source[e]]++] = {graph.target[e], static_cast<EdgeId>(e)};
  }
}

std::span<const FirstMeetings::Meeting> FirstMeetings::between(VertexId source, EdgeId first, EdgeId last) const {
  const auto own = meetings_.begin() + begin_[source], end = meetings_.begin() + begin_[source + 1];
  const auto earlier = [](EdgeId bound) { return [bound](const Meeting& m) { return m.event < bound; }; };
  const auto from = std::partition_point(own, end, earlier(first)), to = std::partition_point(from, end, earlier(last));
  return {meetings_.data() + (from - meetings_.begin()), static_cast<std::size_t>(to - from)};
}

}  // namespace strobe
