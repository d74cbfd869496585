// The places of vertices in an ascending list of some of them. A place is the number of vertices of the list before: a
// count at each group of 32 vertices, and the bits of the group. This takes 2 bits for each vertex of the graph. It is
// about as fast as a table of all vertices, which would take 32, and faster than a hash table of the list.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

class VertexPlaces {
 public:
  explicit VertexPlaces(std::int64_t vertices)
      : vertices_(vertices), groups_(static_cast<std::size_t>(vertices) / of_group + 1) {}

  /// Takes an ascending list of vertices in place of the last one. Cost O(vertices of both).
  void take(std::vector<VertexId> list) {
    for (const VertexId v : list_) groups_[static_cast<std::uint32_t>(v) / of_group] = {};
    list_ = std::move(list);
    std::int32_t place = 0;
    for (const VertexId v : list_) {
      Group& group = groups_[static_cast<std::uint32_t>(v) / of_group];
      if (group.members == 0) group.before = place;
      group.members |= bit_of(v);
      ++place;
    }
  }

  const std::vector<VertexId>& list() const { return list_; }
  std::int64_t vertices() const { return vertices_; }
  /// The place of a vertex, or -1 if the list has it not.
  std::int32_t of(VertexId v) const {
    const Group group = groups_[static_cast<std::uint32_t>(v) / of_group];
    const std::uint32_t bit = bit_of(v);
    const std::int32_t place = group.before + bits_set(group.members & (bit - 1));
    return (group.members & bit) != 0 ? place : -1;
  }

 private:
  static constexpr std::uint32_t of_group = 32;

  struct Group {
    std::int32_t before = 0;    // vertices of the list in earlier groups
    std::uint32_t members = 0;  // a bit for each vertex of the group
  };

  static std::uint32_t bit_of(VertexId v) { return std::uint32_t{1} << (static_cast<std::uint32_t>(v) % of_group); }
  /// std::popcount is a call where processors without its instruction are supported.
  static std::int32_t bits_set(std::uint32_t bits) {
    bits -= (bits >> 1) & 0x55555555u;
    bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0fu;
    return static_cast<std::int32_t>((bits * 0x01010101u) >> 24);
  }

  std::int64_t vertices_;
  std::vector<VertexId> list_;
  std::vector<Group> groups_;  // [N / 32 + 1]
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
