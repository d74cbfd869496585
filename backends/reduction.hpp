// How collectives make one value of those that the ranks bring.
#pragma once

#include <cstdint>
#include <string_view>

namespace strobe {

enum class Reduction : std::uint8_t { sum, max };
inline constexpr std::string_view reduction_names[] = {"sum", "max"};

/// The larger of two values: NaN when either is one, `a` when they are equal (+0 and -0 are). Taken in one order of the
/// values it has the same bits everywhere.
template <class T>
constexpr T larger_of(T a, T b) {
  return a < b || b != b ? (a != a ? a : b) : a;
}

}  // namespace strobe
