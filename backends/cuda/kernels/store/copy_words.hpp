// Row copies as kernels see them: raw device pointers. Copies that do not add move words of the element's size,
// whatever the element is.
#pragma once

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// CopyRows: entry i of the list moves `width` columns.
template <class T>
struct RowCopy {
  const T* from;  // its first column
  T* to;          // its first column
  std::int64_t from_columns, to_columns;
  const std::int64_t *from_rows, *to_rows;  // null: 0, 1, 2, ...
  std::int64_t count, width;

  __device__ const T* from_at(std::int64_t i, std::int64_t column) const {
    return from + (from_rows == nullptr ? i : from_rows[i]) * from_columns + column;
  }
  __device__ T* to_at(std::int64_t i, std::int64_t column) const {
    return to + (to_rows == nullptr ? i : to_rows[i]) * to_columns + column;
  }
};

template <class T>
RowCopy<T> row_copy(const CopyRows& op) {
  return {op.from.data<T>() + op.from_column,
          op.to.data<T>() + op.to_column,
          op.from.columns(),
          op.to.columns(),
          op.from_rows.defined() ? op.from_rows.data<std::int64_t>() : nullptr,
          op.to_rows.defined() ? op.to_rows.data<std::int64_t>() : nullptr,
          op.count,
          op.width};
}

/// CopyRuns: run i is (first row in from, first row in to, rows); both sides have rows of `width` elements.
template <class T>
struct RunCopy {
  const T* from;
  T* to;
  const std::int64_t* runs;
  std::int64_t count, width;
};

template <class T>
RunCopy<T> run_copy(const CopyRuns& op) {
  return {op.from.data<T>(), op.to.data<T>(), op.runs.data<std::int64_t>(), op.runs.rows(), op.from.columns()};
}

/// Calls body with a word of the size of an element.
template <class Body>
void with_word(ElementType type, Body&& body) {
  switch (element_bytes(type)) {
    case 4:
      return body(std::uint32_t{});
    case 8:
      return body(std::uint64_t{});
    default:
      return body(std::uint8_t{});
  }
}

}  // namespace strobe::cuda
