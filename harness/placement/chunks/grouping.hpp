// Numbering and grouping of items that have labels.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace strobe {

/// Replaces labels by numbers 0, 1, ... in the order of the labels, which are below their count. Returns the number of
/// different labels.
inline std::uint32_t number_labels(std::vector<std::uint32_t>& labels) {
  std::vector<std::uint32_t> number(labels.size(), 0);
  for (const std::uint32_t label : labels) number[label] = 1;
  std::uint32_t next = 0;
  for (std::uint32_t& of_label : number) of_label = of_label == 0 ? 0 : next++;
  for (std::uint32_t& label : labels) label = number[label];
  return next;
}

/// Items 0, 1, ... by the group that each belongs to, ascending within a group.
struct Grouped {
  std::vector<std::uint32_t> first;  // [groups + 1]
  std::vector<std::uint32_t> items;
};

template <class GroupOf>
Grouped grouped(std::size_t groups, std::size_t items, const GroupOf& group_of) {
  Grouped result{std::vector<std::uint32_t>(groups + 1, 0), std::vector<std::uint32_t>(items)};
  for (std::size_t i = 0; i < items; ++i) ++result.first[group_of(i) + 1];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (std::size_t i = 0; i < items; ++i) result.items[next[group_of(i)]++] = static_cast<std::uint32_t>(i);
  return result;
}

}  // namespace strobe
