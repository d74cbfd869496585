// The first rows of the steps of a rank's cells, stored as stretches of steps with equal numbers of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace strobe {

/// The numbers [S + 1] that a vector of first rows would hold, the total last. Equal steps share one stretch, and so do
/// the steps in which a rank holds nothing. So S ranks with S steps each need far less than S * S numbers.
class StepRows {
 public:
  StepRows() = default;
  StepRows(const std::vector<std::int64_t>& first) { append(first.begin(), first.end()); }
  StepRows(std::initializer_list<std::int64_t> first) { append(first.begin(), first.end()); }

  /// The first row of the next step, not below that of the step before.
  void push_back(std::int64_t row) {
    if (size_ > 0) {
      const std::int64_t rows = row - last_;
      if (stretches_.empty() || stretches_.back().rows != rows) stretches_.push_back({size_ - 1, last_, rows});
    } else {
      origin_ = row;
    }
    last_ = row;
    ++size_;
  }
  std::size_t size() const { return size_; }
  std::int64_t back() const { return last_; }
  /// Cost O(log stretches).
  std::int64_t operator[](std::size_t step) const {
    const auto behind = std::upper_bound(stretches_.begin(), stretches_.end(), step,
                                         [](std::size_t s, const Stretch& stretch) { return s < stretch.step; });
    if (behind == stretches_.begin()) return origin_;
    const Stretch& stretch = *std::prev(behind);
    return stretch.row + static_cast<std::int64_t>(step - stretch.step) * stretch.rows;
  }

 private:
  /// From `step` on, each step has `rows` rows; `row` is the first row of `step`.
  struct Stretch {
    std::size_t step = 0;
    std::int64_t row = 0, rows = 0;
  };
  template <class Iterator>
  void append(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) push_back(*begin);
  }

  std::vector<Stretch> stretches_;
  std::size_t size_ = 0;
  std::int64_t origin_ = 0, last_ = 0;
};

}  // namespace strobe
