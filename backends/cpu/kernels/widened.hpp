// Registers of values as registers of doubles: for what is summed or reduced in double while values are float. A
// register of floats is two of doubles, one of doubles is itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

inline constexpr int wide_lanes = most_lanes<double>;
using Doubles = Lanes<double, wide_lanes>;

/// The values of one register of T as doubles.
template <class T>
struct Widened {
  static constexpr int parts = static_cast<int>(sizeof(double) / sizeof(T));
  Doubles part[parts];
};

/// Half a register of floats as doubles. GCC 12 makes eight instructions of the general conversion where one is enough.
[[gnu::always_inline]] inline Doubles to_doubles(Lanes<float, wide_lanes> v) {
#if defined(STROBE_MASKED_LANES)
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, reinterpret_cast<__m256>(v)));
#elif defined(STROBE_BLENDED_LANES)
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(reinterpret_cast<__m128>(v)));
#else
  return __builtin_convertvector(v, Doubles);
#endif
}

template <class T>
[[gnu::always_inline]] inline Widened<T> widen(Lanes<T, most_lanes<T>> v) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return {{v}};
  } else {
    constexpr int Q = wide_lanes;
    return [v]<std::size_t... L>(std::index_sequence<L...>)->Widened<T> {
      return {{to_doubles(__builtin_shufflevector(v, v, static_cast<int>(L)...)),
               to_doubles(__builtin_shufflevector(v, v, (Q + static_cast<int>(L))...))}};
    }
    (std::make_index_sequence<Q>{});
  }
}

template <class T>
[[gnu::always_inline]] inline Lanes<T, most_lanes<T>> narrow(const Widened<T>& v) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return v.part[0];
  } else {
    using Half = Lanes<T, wide_lanes>;
    const Half low = __builtin_convertvector(v.part[0], Half), high = __builtin_convertvector(v.part[1], Half);
    return [&]<std::size_t... L>(std::index_sequence<L...>) {
      return __builtin_shufflevector(low, high, static_cast<int>(L)...);
    }
    (std::make_index_sequence<most_lanes<T>>{});
  }
}

/// How many of the first `lanes` values part i holds.
[[gnu::always_inline]] inline int lanes_of_part(int lanes, int i) {
  return std::clamp(lanes - i * wide_lanes, 0, wide_lanes);
}

/// Adds the first lanes of `v` to `to`.
template <class T>
[[gnu::always_inline]] inline void add_widened(const Widened<T>& v, double* to, int lanes) {
  constexpr int Q = wide_lanes;
#pragma GCC unroll 2
  for (int i = 0; i < Widened<T>::parts; ++i) {
    const int some = lanes_of_part(lanes, i);
    store_first<double, Q>(to + i * Q, load_first<double, Q>(to + i * Q, some) + v.part[i], some);
  }
}

/// The sum of all lanes, in their order.
[[gnu::always_inline]] inline double sum_of(Doubles v) {
  double sum = v[0];
  for (int i = 1; i < wide_lanes; ++i) sum += v[i];
  return sum;
}

}  // namespace strobe::cpu
