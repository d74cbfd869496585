// Numbering and grouping of items that have labels. Under a bound of memory (reading_bound.hpp) large arrays lie in
// temporary files.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// Replaces labels by numbers 0, 1, ... in the order of the labels, which are below their count. Returns the number of
/// different labels.
template <class Labels>
std::uint32_t number_labels(Labels& labels) {
  GrowingColumn<std::uint32_t> number(labels.size(), reading_bound());
  for (const std::uint32_t label : labels) number[label] = 1;
  std::uint32_t next = 0;
  for (std::uint32_t& of_label : number) of_label = of_label == 0 ? 0 : next++;
  for (std::uint32_t& label : labels) label = number[label];
  return next;
}

/// Items 0, 1, ... by the group that each belongs to, ascending within a group.
struct Grouped {
  GrowingColumn<std::uint32_t> first;  // [groups + 1]
  GrowingColumn<std::uint32_t> items;
};

template <class GroupOf>
Grouped grouped(std::size_t groups, std::size_t items, const GroupOf& group_of) {
  const ReadingBound* const bound = reading_bound();
  Grouped result{GrowingColumn<std::uint32_t>(groups + 1, bound), GrowingColumn<std::uint32_t>(items, bound)};
  for (std::size_t i = 0; i < items; ++i) ++result.first[group_of(i) + std::size_t{1}];
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  GrowingColumn<std::uint32_t> next(bound);
  next.append(result.first.data(), groups);
  for (std::size_t i = 0; i < items; ++i) result.items[next[group_of(i)]++] = static_cast<std::uint32_t>(i);
  return result;
}

}  // namespace strobe
