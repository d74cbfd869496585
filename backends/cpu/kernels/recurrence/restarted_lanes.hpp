// Packed sequences in strips (vertex_strip.hpp): what changes in the lanes of turned states [h][strip] whose sequence
// begins or ends at a step. `entries` are the strip's of the operation's restarts or ends.
#pragma once

#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/recurrence/states_before.hpp"

namespace strobe::cpu {

/// Sets the state of the lanes that begin, from the rows [., h] of `start` or to zero.
template <class T>
void restart_lanes(const std::int32_t* entries, std::int64_t rows, const T* start, std::int64_t hidden, T* state) {
  for (std::int64_t lane = 0; lane < rows; ++lane) {
    const std::int64_t origin = entries[lane];
    if (origin == goes_on) continue;
    const T* from = origin >= 0 ? start + origin * hidden : nullptr;
    for (std::int64_t u = 0; u < hidden; ++u) state[u * strip<T> + lane] = from == nullptr ? T{0} : from[u];
  }
}

/// Leaves the gradient of the state before the lanes that begin to the rows of `dstart`, which may be null, and goes on
/// with zero.
template <class T>
void leave_lanes(const std::int32_t* entries, std::int64_t rows, T* dstart, std::int64_t hidden, T* gradient) {
  for (std::int64_t lane = 0; lane < rows; ++lane) {
    const std::int64_t origin = entries[lane];
    if (origin == goes_on) continue;
    for (std::int64_t u = 0; u < hidden; ++u) {
      T& value = gradient[u * strip<T> + lane];
      if (origin >= 0 && dstart != nullptr) dstart[origin * hidden + u] = value;
      value = T{0};
    }
  }
}

/// Adds the rows of `dlast` to the gradient of the state after the lanes that end.
template <class T>
void add_last_lanes(const std::int32_t* entries, std::int64_t rows, const T* dlast, std::int64_t hidden, T* gradient) {
  if (!any_listed(entries, rows)) return;
  for (std::int64_t lane = 0; lane < rows; ++lane) {
    for (std::int64_t u = 0; entries[lane] >= 0 && u < hidden; ++u)
      gradient[u * strip<T> + lane] += dlast[entries[lane] * hidden + u];
  }
}

}  // namespace strobe::cpu
