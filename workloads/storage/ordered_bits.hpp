// Doubles as whole numbers in their order.
#pragma once

#include <bit>
#include <cstdint>

namespace strobe {

/// The bits of a double such that smaller numbers have smaller bits; -0.0 comes right before 0.0.
inline std::uint64_t ordered_bits(double value) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

/// The double that has these ordered bits.
inline double from_ordered_bits(std::uint64_t bits) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((bits & sign) != 0 ? bits ^ sign : ~bits);
}

}  // namespace strobe
