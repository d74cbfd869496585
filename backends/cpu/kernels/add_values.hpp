// Adding to rows of few values. A store of a register's first lanes holds up every load that touches its other lanes
// until it has left the store buffer, some twenty cycles, and rows narrower than a register lie that close: loading,
// adding and storing them one by one took 8 ns a row of 6 floats where whole registers take 0.2. So rows are first
// packed into a small array, without loads, and added in whole registers then.
#pragma once

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

/// Values of such an array: 16 KiB in float.
inline constexpr std::int64_t most_added = 4096;

/// Whether rows of `columns` values are added through an array of `most_added` values.
template <class T>
constexpr bool add_by_array(std::int64_t columns) {
  return columns % most_lanes<T> != 0 && columns <= most_added / 8;
}

/// to[0, count) += from[0, count).
template <class T>
void add_values(const T* from, T* to, std::int64_t count) {
  constexpr int P = most_lanes<T>;
  std::int64_t i = 0;
  for (; i + P <= count; i += P) store_first<T, P>(to + i, load<T, P>(to + i) + load<T, P>(from + i), P);
  const int lanes = static_cast<int>(count - i);
  if (lanes > 0) store_first<T, P>(to + i, load_first<T, P>(to + i, lanes) + load_first<T, P>(from + i, lanes), lanes);
}

}  // namespace strobe::cpu
