// Random choice in proportion to weights, and every member of a set at least once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/generators/generation.hpp"

namespace strobe {

/// Weight of each of order.size() members: 1 / (rank + 1)^skew, where member order(rank) has that rank; 0 gives all the
/// same.
std::vector<double> ranked_weights(const KeyedPermutation& order, double skew);

/// Positions drawn in proportion to weights, in O(1) each from 64 random bits, by the alias method (Walker 1977; tables
/// as Vose 1991 fills them). Several groups of consecutive positions share the tables: a draw is from one of them.
class WeightedChoice {
 public:
  /// 12 bytes a weight. `ends` [groups]: where each group ends, ascending, the last at weights.size().
  WeightedChoice(std::span<const double> weights, std::span<const std::size_t> ends);

  bool empty(std::size_t group) const { return first(group) == ends_[group]; }
  /// A position of `group`, which is not empty.
  std::size_t draw(std::size_t group, std::uint64_t bits) const;

 private:
  std::size_t first(std::size_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  void fill(std::size_t begin, std::span<const double> weights);

  std::vector<std::size_t> ends_;
  std::vector<double> keep_;          // probability that a position keeps its value
  std::vector<std::uint32_t> other_;  // its value otherwise, counted from the beginning of its group
};

/// Names every member of [0, count) once, in a random order and evenly spread over `turns` turns.
class Introductions {
 public:
  Introductions(std::int64_t turns, const KeyedPermutation& order)
      : turns_(turns), count_(static_cast<std::int64_t>(order.size())), order_(order) {}

  /// The member whose turn it is; -1 on the turns between.
  std::int64_t next() {
    if (named_ == count_) return -1;
    ++turn_;
    const auto due = static_cast<std::int64_t>(static_cast<double>(turn_) / static_cast<double>(turns_) *
                                               static_cast<double>(count_));
    return due > named_ ? static_cast<std::int64_t>(order_(static_cast<std::uint64_t>(named_++))) : -1;
  }

 private:
  std::int64_t turns_, count_, turn_ = 0, named_ = 0;
  KeyedPermutation order_;
};

}  // namespace strobe
