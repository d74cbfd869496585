// Helpers for the value cases of communicators: numbers that every rank can compute, and comparison bit for bit.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>

#include "tests/conformance/collectives/collectives.hpp"

namespace strobe::conformance {

/// A number that only (rank, index) decides, of mixed magnitude and sign; exact in integer types.
template <class T>
T sample(int rank, std::int64_t index) {
  std::uint64_t bits = (static_cast<std::uint64_t>(rank) + 1) * 0x9E3779B97F4A7C15ull +
                       static_cast<std::uint64_t>(index) * 0xBF58476D1CE4E5B9ull;
  bits ^= bits >> 29;
  bits *= 0x94D049BB133111EBull;
  bits ^= bits >> 32;
  const auto whole = static_cast<std::int64_t>(bits % 2000001) - 1000000;
  if constexpr (std::is_integral_v<T>) return static_cast<T>(whole);
  return static_cast<T>(std::ldexp(static_cast<double>(whole) / 3.0, 3 * static_cast<int>(bits >> 60) - 24));
}

template <class T>
Tensor filled(Device& device, std::int64_t rows, std::int64_t columns, int rank, std::int64_t first_index = 0) {
  Tensor tensor = device.allocate(rows, columns, element_type_of<T>);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<T>()[i] = sample<T>(rank, first_index + i);
  return tensor;
}

template <class T>
T sum_in_rank_order(int ranks, std::int64_t index) {
  T sum = sample<T>(0, index);
  for (int r = 1; r < ranks; ++r) sum += sample<T>(r, index);
  return sum;
}

/// Compares `count` values with wanted(i), bit for bit.
template <class T, class Wanted>
void expect_values(Communicator& c, const T* values, std::int64_t count, const std::string& what,
                   const Wanted& wanted) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T right = wanted(i);
    if (std::memcmp(&values[i], &right, sizeof(T)) == 0) continue;
    expect(false, c, fmt::format("{}: element {} is {}, not {}", what, i, values[i], right));
  }
}

}  // namespace strobe::conformance
