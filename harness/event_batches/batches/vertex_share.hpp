// The vertices of one node: vertex v is of node v mod the number of nodes.
#pragma once

#include <cstdint>

#include "core/ids.hpp"

namespace strobe {

struct VertexShare {
  std::int64_t node = 0, nodes = 1;  // all vertices by default

  bool operator==(const VertexShare&) const = default;
  /// The row of an own vertex.
  std::int64_t row(VertexId vertex) const { return vertex / nodes; }
  /// How many of `all` vertices are its own.
  std::int64_t count(std::int64_t all) const { return (all - node + nodes - 1) / nodes; }
};

}  // namespace strobe
