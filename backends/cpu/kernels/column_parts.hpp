// Blocks of columns that lie beside each other in a wide matrix, each a matrix of its own.
#pragma once

#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
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

/// The tensors one behind the other.
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

/// Rows [begin, end) of the parts, to rows of `columns` values from `whole` on.
template <class T>
void join_rows(const std::vector<Part<T>>& parts, T* whole, std::int64_t columns, std::int64_t begin,
               std::int64_t end) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t r = begin; r < end; ++r, whole += columns) {
    for (const Part<T>& part : parts) {
      const T* from = part.data + r * part.width;
      T* to = whole + part.first;
      for (std::int64_t c = 0; c < part.width; c += P) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, part.width - c));
        store_first<T, P>(to + c, load_first<T, P>(from + c, lanes), lanes);
      }
    }
  }
}

}  // namespace strobe::cpu
