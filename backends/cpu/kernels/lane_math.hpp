// Sigmoid and tanh of short vectors from one exp(x) - 1, which keeps both accurate to the last few bits everywhere.
// x is split into k ln 2 + r, |r| <= ln 2 / 2; exp(r) - 1 is a polynomial p; exp(x) - 1 = 2^k p + (2^k - 1).
// float: a least-maximum fit of degree 6, error of p at most 1.4e-8 |r|. Registers of 16 floats, where the machine
// permutes them by index, take the powers 2^(j / 16) from one register instead, so that |r| <= ln 2 / 32 and degree 3
// is enough: 0.72 of the time on Zen 4. Sigmoid and tanh within 3e-7 of the exact value (absolute) either way. double:
// Taylor's series to degree 13, remainder below 2^-60 |r|; both within 4e-16 (absolute). NaN stays NaN. Cost about 17
// or 20 instructions a register in float, 30 and a division in double.
#pragma once

#include <bit>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = std::int32_t;
  static constexpr float limit = 87.0f;             // exp(+-87) is a normal number
  static constexpr float to_integer = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float inverse_ln2 = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  // Coefficients of r^2, r^3, ... of exp(r) - 1.
  static constexpr float series[] = {0.5f, 0.16666543f, 0.04166628f, 0.008366592f, 0.0013946465f};
};

template <>
struct ExpConstants<double> {
  using Bits = std::int64_t;
  static constexpr double limit = 708.0;
  static constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double inverse_ln2 = 1.4426950408889634074, ln2_high = 6.93147180369123816490e-01,
                          ln2_low = 1.90821492927058770002e-10;
  static constexpr double series[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
};

/// 1 / v for v of [1, 1e39); float uses an estimate and one step of Newton where the machine has one.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> reciprocal(Lanes<T, P> v) {
#ifdef STROBE_MASKED_LANES
  if constexpr (P * sizeof(T) == 64 && sizeof(T) == 4) {
    const auto estimate = reinterpret_cast<Lanes<T, P>>(_mm512_maskz_rcp14_ps(0xFFFF, reinterpret_cast<__m512>(v)));
    return estimate + estimate * (T{1} - v * estimate);
  }
#endif
  return T{1} / v;
}

/// v inside [-limit, limit]; NaN stays.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> clamp(Lanes<T, P> v, T limit) {
#ifdef STROBE_MASKED_LANES
  if constexpr (P * sizeof(T) == 64 && sizeof(T) == 4) {
    const __m512 high = _mm512_set1_ps(limit);  // min and max give their second operand when one is NaN
    return reinterpret_cast<Lanes<T, P>>(_mm512_maskz_max_ps(
        0xFFFF, _mm512_set1_ps(-limit), _mm512_maskz_min_ps(0xFFFF, high, reinterpret_cast<__m512>(v))));
  }
#elif defined(STROBE_BLENDED_LANES)
  if constexpr (std::is_same_v<Lanes<T, P>, Lanes<float, 8>>) {
    const __m256 below = _mm256_min_ps(_mm256_set1_ps(limit), reinterpret_cast<__m256>(v));
    return reinterpret_cast<Lanes<T, P>>(_mm256_max_ps(_mm256_set1_ps(-limit), below));
  }
#endif
  const Lanes<T, P> high = broadcast<T, P>(limit), low = broadcast<T, P>(-limit);
  const Lanes<T, P> below = v > high ? high : v;
  return below < low ? low : below;
}

/// v = exp(v) - 1 of K registers whose values are inside [-limit, limit] or NaN, a term of all of them at a time: the
/// chain of one takes four times as long as its instructions, and a processor overlaps few of them by itself.
template <class T, int P, int K>
[[gnu::always_inline]] inline void exp_minus_one_of(Lanes<T, P> (&v)[K]) {
  using C = ExpConstants<T>;
  using Bits = Lanes<typename C::Bits, P>;
  constexpr int terms = static_cast<int>(sizeof(C::series) / sizeof(T));
  Lanes<T, P> shifted[K], sum[K];
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) {
    shifted[i] = v[i] * C::inverse_ln2 + C::to_integer;
    sum[i] = broadcast<T, P>(C::series[terms - 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) {
    const Lanes<T, P> k = shifted[i] - C::to_integer;
    v[i] = (v[i] - k * C::ln2_high) - k * C::ln2_low;
  }
#pragma GCC unroll 16
  for (int term = terms - 2; term >= 0; --term) {
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) sum[i] = sum[i] * v[i] + C::series[term];
  }
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) {
    const Lanes<T, P> p = sum[i] * (v[i] * v[i]) + v[i];
    // The low bits of `shifted` hold k; only they reach the exponent.
    const Bits bits = (std::bit_cast<Bits>(shifted[i]) + static_cast<typename C::Bits>(C::bias)) << C::mantissa;
    const Lanes<T, P> scale = std::bit_cast<Lanes<T, P>>(bits);
    v[i] = scale * p + (scale - T{1});
  }
}

/// exp(v) - 1 with v clamped to the range in which it is finite.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> exp_minus_one(Lanes<T, P> v) {
  Lanes<T, P> one[1] = {clamp<T, P>(v, ExpConstants<T>::limit)};
  exp_minus_one_of<T, P, 1>(one);
  return one[0];
}

/// Whether registers of P values of T go by powers of 2^(1/16).
template <class T, int P>
inline constexpr bool has_powers =
#ifdef STROBE_MASKED_LANES
    sizeof(T) == 4 && P == 16;
#else
    false;
#endif

#ifdef STROBE_MASKED_LANES
/// Lane l of the result is the lane of `table` that the low 4 bits of at[l] name.
template <class Value>
[[gnu::always_inline]] inline Value look_up(Value table, Lanes<std::int32_t, 16> at) {
  return std::bit_cast<Value>(
      _mm512_maskz_permutexvar_epi32(0xFFFF, std::bit_cast<__m512i>(at), std::bit_cast<__m512i>(table)));
}
#endif

/// 2^(v c) = scale + scale p of K registers, with |v c| <= 126. v c = i / 16 + r with an integer i and |r| <= 1/32;
/// scale = 2^(i / 16), p = 2^r - 1 with an error of at most 8e-8 |r|. With `near_one`, p makes up for what scale was
/// rounded by, so that scale p + (scale - 1) has a small relative error as well. A Value is 16 floats.
template <bool near_one, int K, class Value>
[[gnu::always_inline]] inline void powers_of_two(const Value (&v)[K], float c, Value (&scale)[K], Value (&p)[K]) {
  using Bits = Lanes<std::int32_t, static_cast<int>(sizeof(Value) / sizeof(float))>;
  constexpr float to_sixteenths = 786432.0f;  // 1.5 * 2^19: adding it rounds to a sixteenth, i in the low bits
  // The bits of 2^(j / 16) less j << 19, so that i << 19 = (k << 23) + (j << 19) added makes those of 2^(k + j / 16).
  constexpr Bits powers = {0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532,
                           0x3f75fed7, 0x3f75583f, 0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c,
                           0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
  // The relative difference between 2^(j / 16) and its float.
  constexpr Value more = {0.0f,          4.62855e-08f,  -1.19922e-08f, 4.72978e-08f,  3.19342e-08f, 3.62106e-08f,
                          -3.09907e-08f, -7.47521e-09f, 1.71143e-08f,  -3.04768e-08f, 5.23333e-09f, 6.10759e-09f,
                          -1.47196e-08f, -5.25880e-09f, -6.12826e-09f, 5.14061e-09f};
  Value shifted[K];
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) shifted[i] = v[i] * c + to_sixteenths;
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) {
    const Bits bits = std::bit_cast<Bits>(shifted[i]);
    const Value r = v[i] * c - (shifted[i] - to_sixteenths);
    p[i] = ((0.05550509f * r + 0.24023355f) * r + 0.69314718f) * r;
    if constexpr (near_one) p[i] += look_up(more, bits);
    scale[i] = std::bit_cast<Value>(look_up(powers, bits) + (bits << 19));
  }
}

/// v = sigmoid(v) of K registers.
template <class T, int P, int K>
[[gnu::always_inline]] inline void sigmoid_of(Lanes<T, P> (&v)[K]) {
  if constexpr (has_powers<T, P>) {
    Lanes<T, P> scale[K], p[K];
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = clamp<T, P>(v[i], ExpConstants<T>::limit);
    powers_of_two<false, K>(v, -ExpConstants<T>::inverse_ln2, scale, p);
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = reciprocal<T, P>((scale[i] * p[i] + scale[i]) + T{1});
  } else {
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = clamp<T, P>(-v[i], ExpConstants<T>::limit);
    exp_minus_one_of<T, P, K>(v);
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = reciprocal<T, P>(v[i] + T{2});
  }
}

/// v = tanh(v) of K registers.
template <class T, int P, int K>
[[gnu::always_inline]] inline void tanh_of(Lanes<T, P> (&v)[K]) {
  if constexpr (has_powers<T, P>) {
    Lanes<T, P> scale[K], p[K];
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = clamp<T, P>(v[i], T{20});
    powers_of_two<true, K>(v, 2 * ExpConstants<T>::inverse_ln2, scale, p);
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = scale[i] * p[i] + (scale[i] - T{1});
  } else {
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = clamp<T, P>(v[i], T{20}) * T{2};
    exp_minus_one_of<T, P, K>(v);
  }
#pragma GCC unroll 8
  for (int i = 0; i < K; ++i) v[i] = v[i] * reciprocal<T, P>(v[i] + T{2});
}

template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> sigmoid(Lanes<T, P> v) {
  Lanes<T, P> one[1] = {v};
  sigmoid_of<T, P, 1>(one);
  return one[0];
}

template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> tanh(Lanes<T, P> v) {
  Lanes<T, P> one[1] = {v};
  tanh_of<T, P, 1>(one);
  return one[0];
}

/// change.operator()<K>(v) for the full registers of to = from [count], four of them at a time.
template <class T, class Change>
[[gnu::always_inline]] inline void change_registers(const T* from, T* to, std::int64_t count, const Change& change) {
  constexpr int P = most_lanes<T>;
  const auto some = [&]<int K>(std::integral_constant<int, K>, std::int64_t at) {
    Lanes<T, P> v[K];
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) v[i] = load<T, P>(from + at + i * P);
    change.template operator()<K>(v);
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) store_first<T, P>(to + at + i * P, v[i], P);
  };
  std::int64_t at = 0;
  for (; at + 4 * P <= count; at += 4 * P) some(std::integral_constant<int, 4>{}, at);
  for (; at + P <= count; at += P) some(std::integral_constant<int, 1>{}, at);
}

/// to = sigmoid(from) for `count` values in full registers; `to` may be `from`.
template <class T>
void sigmoid_values(const T* from, T* to, std::int64_t count) {
  change_registers(from, to, count, []<int K>(Lanes<T, most_lanes<T>>(&v)[K]) { sigmoid_of<T, most_lanes<T>, K>(v); });
}

/// to = tanh(from) for `count` values in full registers; `to` may be `from`.
template <class T>
void tanh_values(const T* from, T* to, std::int64_t count) {
  change_registers(from, to, count, []<int K>(Lanes<T, most_lanes<T>>(&v)[K]) { tanh_of<T, most_lanes<T>, K>(v); });
}

}  // namespace strobe::cpu
