// Domain aliases used across Strobe.
#pragma once

#include <cstdint>

namespace strobe {

using VertexId = std::int32_t;  // 0-based; a graph has at most 2^31 - 1 vertices
using Step = std::int32_t;      // 0-based time step of a discrete-time graph
using Rank = std::int32_t;      // 0-based
using EdgeId = std::int64_t;    // 0-based event number in time order

/// A run of consecutive numbers [first, first + count).
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// The part of [0, n) that belongs to `part` of `parts` when n is divided evenly in order; the first n % parts parts
/// get one more.
inline Run even_share(std::int64_t n, std::int64_t parts, std::int64_t part) {
  const std::int64_t base = n / parts, extra = n % parts;
  return {part * base + (part < extra ? part : extra), base + (part < extra ? 1 : 0)};
}

}  // namespace strobe
