// Asks the processor for rows of a graph ahead of their use. Where rows are visited in a random order, each one would
// otherwise wait for memory: its offsets, then its neighbours, then their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/system/ask_ahead.hpp"

namespace strobe {

/// Row r is [offsets[r], offsets[r + 1]) of `neighbours`, and of `weights` where there are some. All arrays must stay.
struct LabelledRows {
  const std::int64_t* offsets = nullptr;
  const std::uint32_t* neighbours = nullptr;
  const std::int64_t* weights = nullptr;
  const std::uint32_t* label = nullptr;  // of every row
};

class RowsAhead {
 public:
  /// Rows will be visited in this order.
  RowsAhead(const LabelledRows& rows, std::span<const std::uint32_t> order) : rows_(rows), order_(order) {}

  /// Before the visit of order[at]. `wanted(row)`: whether the row will be read; another answer later costs time alone.
  template <class Wanted>
  void reach(std::size_t at, const Wanted& wanted) const {
    if (at + far < order_.size()) ask_ahead(&rows_.offsets[order_[at + far]]);
    if (at + middle < order_.size() && wanted(order_[at + middle])) ask_for_row(order_[at + middle]);
    if (at + near < order_.size() && wanted(order_[at + near])) ask_for_labels(order_[at + near]);
  }

  /// Asks for the labels of a row's neighbours.
  void ask_for_labels(std::uint32_t row) const {
    for (std::int64_t e = rows_.offsets[row]; e < rows_.offsets[row + 1]; ++e)
      ask_ahead(&rows_.label[rows_.neighbours[e]]);
  }

 private:
  // Rows between what is asked for and its use. Measured with `strobe_bench --benchmark_filter='^chunks'`.
  static constexpr std::size_t far = 24, middle = 12, near = 4;
  static constexpr std::int64_t line = 64;  // bytes

  template <class T>
  static void ask_for_range(const T* begin, const T* end) {
    for (; begin < end; begin += line / sizeof(T)) ask_ahead(begin);
  }
  void ask_for_row(std::uint32_t row) const {
    const std::int64_t first = rows_.offsets[row], end = rows_.offsets[row + 1];
    ask_for_range(rows_.neighbours + first, rows_.neighbours + end);
    if (rows_.weights != nullptr) ask_for_range(rows_.weights + first, rows_.weights + end);
  }

  LabelledRows rows_;
  std::span<const std::uint32_t> order_;
};

}  // namespace strobe
