// Shared by the kernels of single cells: an activation, and where gradients go.
#pragma once

#include <cmath>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

template <class T>
__device__ T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// Where a gradient goes: it is stored, or added. Nowhere when `to` is null.
template <class T>
struct Target {
  T* to;
  bool accumulate;
  /// The value that is added to value i.
  __device__ T before(std::int64_t i) const { return to != nullptr && accumulate ? to[i] : T{0}; }
  __device__ void put(std::int64_t i, T value, T before) const {
    if (to != nullptr) to[i] = accumulate ? before + value : value;
  }
  __device__ void put(std::int64_t i, T value) const { put(i, value, before(i)); }
};

}  // namespace strobe::cuda
