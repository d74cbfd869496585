// The places of vertices in a list of some of them. A table of all vertices is faster than a hash table of the list. It
// lies in pages that take memory from the first list on that has one of their vertices.
#pragma once

#include <algorithm>
#include <bit>
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

/// A set of places in such a list, with a bit for each place.
class PlaceSet {
 public:
  /// Takes an empty set for lists of `places`. The set must be empty.
  void make_room(std::size_t places) {
    if (places / 64 >= words_.size()) words_.resize(places / 64 + 1, 0);
    used_ = places / 64 + 1;
  }
  void add(std::int32_t place) {
    words_[static_cast<std::size_t>(place) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(place) % 64);
  }
  /// Calls visit(place) for all, ascending.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::size_t word = 0; word < used_; ++word)
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1)
        visit(static_cast<std::int32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(left))));
  }
  void clear() { std::fill_n(words_.begin(), used_, 0); }
  /// Whether sorting `count` places is faster than walking over the words.
  bool is_sparse(std::size_t count) const { return count * 16 < used_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t used_ = 0;
};

}  // namespace strobe
