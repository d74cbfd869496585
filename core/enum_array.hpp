#pragma once

#include <array>
#include <cstddef>

namespace strobe {

/// One value for each enumerator of `Key`, whose enumerators count from 0. Takes an enumerator or a position.
template <class Key, class T, int count>
struct EnumArray : std::array<T, static_cast<std::size_t>(count)> {
  using Positions = std::array<T, static_cast<std::size_t>(count)>;
  using Positions::operator[];
  constexpr T& operator[](Key key) { return Positions::operator[](static_cast<std::size_t>(key)); }
  constexpr const T& operator[](Key key) const { return Positions::operator[](static_cast<std::size_t>(key)); }
};

}  // namespace strobe
