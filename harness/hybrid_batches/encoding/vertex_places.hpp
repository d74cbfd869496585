// The places of vertices in a list of some of them. A table of all vertices is faster than a hash table of the list. It
// lies in pages that take memory from the first list on that has one of their vertices.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

class VertexPlaces {
 public:
  explicit VertexPlaces(std::int64_t vertices)
      : vertices_(vertices),
        after_(static_cast<std::int32_t*>(std::calloc(static_cast<std::size_t>(vertices) + 1, sizeof(std::int32_t)))) {
    if (after_ == nullptr) throw std::bad_alloc();
  }

  /// Takes a list of distinct vertices in place of the last one. Cost O(vertices of both).
  void take(std::vector<VertexId> list) {
    for (const VertexId v : list_) after_[v] = 0;
    list_ = std::move(list);
    std::int32_t place = 0;
    for (const VertexId v : list_) after_[v] = ++place;
  }

  const std::vector<VertexId>& list() const { return list_; }
  std::int64_t vertices() const { return vertices_; }
  /// The place of a vertex, or -1 if the list has it not.
  std::int32_t of(VertexId v) const { return after_[v] - 1; }

 private:
  struct Free {
    void operator()(std::int32_t* memory) const { std::free(memory); }
  };

  std::int64_t vertices_;
  std::vector<VertexId> list_;
  std::unique_ptr<std::int32_t[], Free> after_;  // [N] the place after a vertex of the list; 0 for other vertices
};

}  // namespace strobe
