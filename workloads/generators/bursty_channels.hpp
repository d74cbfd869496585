// The random streams of `bursty_events`; see generator_stream.
#pragma once

#include <algorithm>
#include <cstdint>

namespace strobe {

enum BurstyChannel : std::uint32_t {
  bursty_activity = 80,
  bursty_popularity = 81,
  bursty_source_turns = 82,
  bursty_target_turns = 83,
  bursty_waiting = 84,
  bursty_arrival = 85,
  bursty_label = 86,
  bursty_target = 87,
  bursty_vertex = 88
};

/// The number of turns over which `count` vertices are named when about `expected` turns will come. The last is named
/// after nine tenths of these turns. At most every second turn names a vertex, so that others are drawn in between.
inline std::int64_t introduction_turns(double expected, std::uint64_t count) {
  return std::max(static_cast<std::int64_t>(0.9 * expected), static_cast<std::int64_t>(2 * count));
}

}  // namespace strobe
