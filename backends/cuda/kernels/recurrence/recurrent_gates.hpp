// Shared by the recurrences of all widths: a unit's gates together, and their activations.
#pragma once

#include <cmath>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cuda {

/// Widths up to which lanes of a warp share a vertex (recurrent_lanes.hpp): units, and inputs of a gate.
inline constexpr int narrow_hidden = 8, narrow_inputs = 16;

/// One value for each gate of a unit.
template <class T>
struct alignas(16) Gates {
  T of[4];

  __device__ void clear() {
    for (T& value : of) value = T{0};
  }
  __device__ void add(T factor, const Gates& weights) {
    for (int g = 0; g < 4; ++g) of[g] += factor * weights.of[g];
  }
};

template <class T>
__device__ T squash(T value) {
  return T{1} / (T{1} + std::exp(-value));
}
/// tanh of a small value by its series, otherwise `otherwise`, whose digits are only as exact as those of 1. A state
/// that fades must keep its digits: if it becomes zero too early, a relu after it closes.
__device__ inline float near_zero_or(float value, float otherwise) {
  constexpr float largest = 0.2f;  // from which on the next term counts
  const float square = value * value;
  const float series = value + value * square * (-1.0f / 3 + square * (2.0f / 15 + square * (-17.0f / 315)));
  return std::abs(value) < largest ? series : otherwise;
}

/// tanh, in fp32 by one exponential.
__device__ inline float squash_both(float value) { return near_zero_or(value, 2.0f * squash(2.0f * value) - 1.0f); }
__device__ inline double squash_both(double value) { return std::tanh(value); }

}  // namespace strobe::cuda
