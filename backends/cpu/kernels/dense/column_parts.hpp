// Adjacent blocks of columns in a wide matrix; each is a matrix of its own.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/add_values.hpp"
#include "backends/tensor.hpp"

namespace strobe::cpu {

/// A block of columns: its own matrix [R, width], its first column of the wide one, and whether what comes out of the
/// wide one is added to it.
template <class T>
struct Part {
  T* data;
  std::int64_t width, first;
  bool accumulate;
};

/// The tensors as parts, one after the other.
template <class T>
std::vector<Part<T>> column_parts(const std::vector<Tensor>& tensors) {
  std::vector<Part<T>> parts;
  std::int64_t first = 0;
  for (const Tensor& part : tensors) {
    parts.push_back({part.data<T>(), part.columns(), first, false});
    first += part.columns();
  }
  return parts;
}

/// Rows whose `columns` values stay in the first-level cache while block after block passes over them.
inline std::int64_t rows_at_once(std::int64_t columns) {
  return std::clamp<std::int64_t>(most_added / std::max<std::int64_t>(1, columns), 8, 128);
}

/// to [rows, width] = from [rows, width], rows of each `stride` values apart.
template <class T>
void copy_columns(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t width,
                  std::int64_t rows) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t c = 0; c < width; c += P) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(P, width - c));
    for (std::int64_t r = 0; r < rows; ++r)
      store_first<T, P>(to + r * to_stride + c, load<T, P>(from + r * from_stride + c), lanes);
  }
}

/// Rows [begin, end) of the parts, to rows of `columns` values from `whole` on.
template <class T>
void join_rows(const std::vector<Part<T>>& parts, T* whole, std::int64_t columns, std::int64_t begin,
               std::int64_t end) {
  const std::int64_t some = rows_at_once(columns);
  for (std::int64_t row = begin; row < end; row += some, whole += some * columns) {
    for (const Part<T>& part : parts)
      copy_columns(part.data + row * part.width, part.width, whole + part.first, columns, part.width,
                   std::min(some, end - row));
  }
}

/// part += `rows` rows of `width` columns from `from` on, `stride` values apart.
template <class T>
void add_columns(const T* from, std::int64_t stride, T* part, std::int64_t width, std::int64_t rows) {
  if (!add_by_array<T>(width)) {
    for (std::int64_t r = 0; r < rows; ++r) add_values(from + r * stride, part + r * width, width);
    return;
  }
  alignas(64) T added[most_added];
  const std::int64_t some = most_added / width;
  for (std::int64_t first = 0; first < rows; first += some) {
    const std::int64_t count = std::min(some, rows - first);
    copy_columns(from + first * stride, stride, static_cast<T*>(added), width, width, count);
    add_values(static_cast<const T*>(added), part + first * width, count * width);
  }
}

/// Rows of `columns` values from `whole` on to rows [begin, end) of the parts, or added to them.
template <class T>
void split_rows(const std::vector<Part<T>>& parts, const T* whole, std::int64_t columns, std::int64_t begin,
                std::int64_t end) {
  const std::int64_t some = rows_at_once(columns);
  for (std::int64_t row = begin; row < end; row += some, whole += some * columns) {
    const std::int64_t rows = std::min(some, end - row);
    for (const Part<T>& part : parts) {
      T* to = part.data + row * part.width;
      part.accumulate ? add_columns(whole + part.first, columns, to, part.width, rows)
                      : copy_columns(whole + part.first, columns, to, part.width, part.width, rows);
    }
  }
}

}  // namespace strobe::cpu
