// Numbers vertices in the order in which they first come: a hash table as large as a batch, and not as the graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

class VertexNumbers {
 public:
  void clear() {
    vertices_.clear();
    std::fill(slots_.begin(), slots_.end(), 0U);
  }
  /// The number of a vertex, which it gets now unless it has one. Cost: O(1) expected.
  std::uint32_t of(VertexId vertex) {
    if (2 * (vertices_.size() + 1) > slots_.size()) grow();
    std::uint32_t& slot = slots_[slot_of(vertex)];
    if (slot == 0) vertices_.push_back(vertex), slot = static_cast<std::uint32_t>(vertices_.size());
    return slot - 1;
  }
  /// By number.
  const std::vector<VertexId>& vertices() const { return vertices_; }

 private:
  /// The slot of a vertex, or the free one where it belongs. At least half of the slots are free.
  std::size_t slot_of(VertexId vertex) const {
    // Multiplicative hashing (Knuth, volume 3, section 6.4), by the golden ratio.
    const std::size_t last = slots_.size() - 1;
    std::size_t at = (static_cast<std::uint64_t>(vertex) * 0x9E3779B97F4A7C15U >> 32) & last;
    while (slots_[at] != 0 && vertices_[slots_[at] - 1] != vertex) at = (at + 1) & last;
    return at;
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0U);
    for (std::size_t n = 0; n < vertices_.size(); ++n)
      slots_[slot_of(vertices_[n])] = static_cast<std::uint32_t>(n + 1);
  }

  std::vector<VertexId> vertices_;
  std::vector<std::uint32_t> slots_;  // a power of two of them; number + 1, 0 = free
};

}  // namespace strobe
