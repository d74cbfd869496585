// How collectives combine the values of the ranks into one.
#pragma once

#include <cstdint>
#include <string_view>

namespace strobe {

enum class Reduction : std::uint8_t { sum, max };
inline constexpr std::string_view reduction_names[] = {"sum", "max"};

/// The larger of two values: NaN when either is NaN, `a` when they are equal (+0 and -0 are). Applied in a fixed order
/// of the values it gives the same bits everywhere.
template <class T>
constexpr T larger_of(T a, T b) {
  return a < b || b != b ? (a != a ? a : b) : a;
}

}  // namespace strobe
