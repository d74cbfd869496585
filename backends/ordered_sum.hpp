// Returns the elementwise sum, or maximum, of several buffers, always taken in the order in which they are given, so
// that every communicator gives the same bits at the same rank count. Invariants: a block is reduced in a scratch array
// before it is stored, so the result may be one of the addends; a NaN among the addends gives NaN either way. Cost:
// reads n buffers once, writes one; no allocation.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "backends/reduction.hpp"
#include "backends/tensor.hpp"
#include "core/errors.hpp"

namespace strobe {

/// Whether collectives can reduce elements of this type.
inline bool is_summable(ElementType type) { return type != ElementType::u8; }

template <class T, class Combine>
void ordered_reduction_as(std::span<const std::byte* const> addends, std::byte* result, std::int64_t elements,
                          const Combine& combine) {
  constexpr std::int64_t block = 1024;
  T scratch[block];
  for (std::int64_t first = 0; first < elements; first += block) {
    const std::int64_t count = std::min(block, elements - first);
    std::memcpy(scratch, addends[0] + first * sizeof(T), count * sizeof(T));
    for (std::size_t a = 1; a < addends.size(); ++a) {
      const T* values = reinterpret_cast<const T*>(addends[a]) + first;
      for (std::int64_t i = 0; i < count; ++i) scratch[i] = combine(scratch[i], values[i]);
    }
    std::memcpy(result + first * sizeof(T), scratch, count * sizeof(T));
  }
}

template <class T>
void ordered_sum_as(Reduction reduction, std::span<const std::byte* const> addends, std::byte* sum,
                    std::int64_t elements) {
  if (reduction == Reduction::max) {
    ordered_reduction_as<T>(addends, sum, elements, larger_of<T>);
  } else {
    ordered_reduction_as<T>(addends, sum, elements, [](T a, T b) { return static_cast<T>(a + b); });
  }
}

/// sum[i] = addends[0][i] + addends[1][i] + ..., in that order, or the largest of them (larger_of); `sum` may be one of
/// the addends, which are at least one. Throws Error for a type that cannot be added.
inline void ordered_sum(Reduction reduction, ElementType type, std::span<const std::byte* const> addends,
                        std::byte* sum, std::int64_t elements) {
  switch (type) {
    case ElementType::f32:
      return ordered_sum_as<float>(reduction, addends, sum, elements);
    case ElementType::f64:
      return ordered_sum_as<double>(reduction, addends, sum, elements);
    case ElementType::i32:
      return ordered_sum_as<std::int32_t>(reduction, addends, sum, elements);
    case ElementType::i64:
      return ordered_sum_as<std::int64_t>(reduction, addends, sum, elements);
    case ElementType::u8:
      break;
  }
  throw Error("collectives do not add elements of type u8");
}

}  // namespace strobe
