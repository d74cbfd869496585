// Vectors of up to 16 bytes, loaded and stored at once.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// V neighbouring values; addresses are multiples of its size.
template <class T, int V>
struct alignas(V * sizeof(T)) Pack {
  T at[V];
};

inline bool is_multiple(const void* address, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// Whether a row-major matrix of `columns` columns can be read in vectors of `bytes`.
inline bool takes_packs(const void* data, std::int64_t columns, std::size_t element, std::size_t bytes) {
  return is_multiple(data, bytes) && static_cast<std::size_t>(columns) * element % bytes == 0;
}

/// How many elements of a row-major matrix of `columns` columns one vector holds, both for `a` and `b`.
inline std::int64_t pack_length(const void* a, const void* b, std::int64_t columns, std::size_t element) {
  std::size_t bytes = 16;
  while (bytes > element && !(takes_packs(a, columns, element, bytes) && takes_packs(b, columns, element, bytes)))
    bytes /= 2;
  return static_cast<std::int64_t>(bytes / element);
}

/// Calls body(std::integral_constant<int, V>) with the longest vectors (up to 16 bytes) that `fits(bytes)` allows.
template <class T, int V = static_cast<int>(16 / sizeof(T)), class Fits, class Body>
void with_pack(const Fits& fits, const Body& body) {
  if constexpr (V > 1) {
    if (!fits(V * sizeof(T))) return with_pack<T, V / 2>(fits, body);
  }
  body(std::integral_constant<int, V>{});
}

}  // namespace strobe::cuda
