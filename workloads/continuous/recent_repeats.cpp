// One pass with the newest targets of each source, 36 bytes a vertex.
#include "workloads/continuous/recent_repeats.hpp"

#include <algorithm>
#include <array>

namespace strobe {

RecentRepeats count_recent_repeats(const EventGraph& events) {
  constexpr std::size_t depth = 8;
  struct Newest {
    std::array<VertexId, depth> target;
    std::uint32_t next = 0;
  };
  constexpr VertexId none = -1;
  std::vector<Newest> newest(events.vertices);
  for (Newest& own : newest) own.target.fill(none);
  RecentRepeats repeats;
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    Newest& own = newest[events.source[e]];
    repeats.asked += own.target.front() != none;
    repeats.repeated += std::find(own.target.begin(), own.target.end(), events.target[e]) != own.target.end();
    own.target[own.next++ % depth] = events.target[e];
  }
  return repeats;
}

}  // namespace strobe
