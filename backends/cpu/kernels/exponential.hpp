// exp and log of full registers with a small relative error everywhere, for softmax in the fast kernels.
// exp(x) = 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2, by the Taylor series of exp to degree 7 (float) or 13
// (double): the remainder is below half a unit in the last place. x is taken into [-87.3, 88.3] (float) or
// [-708.3, 709.7] (double), so nothing becomes denormal or infinite; NaN stays NaN.
// The reduction is Cody and Waite's (Software Manual for the Elementary Functions, 1980).
#pragma once

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  using Bits = std::int32_t;
  static constexpr float low = -87.3f, high = 88.3f;
  static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int mantissa = 23, bias = 127, degree = 7;
};

template <>
struct ExponentialConstants<double> {
  using Bits = std::int64_t;
  static constexpr double low = -708.3, high = 709.7;
  static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int mantissa = 52, bias = 1023, degree = 13;
};

inline constexpr double inverse_factorials[] = {
    1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
    1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};

template <class T, int P = most_lanes<T>>
[[gnu::always_inline]] inline Lanes<T, P> exponential(Lanes<T, P> x) {
  using C = ExponentialConstants<T>;
  using V = Lanes<T, P>;
  typedef typename C::Bits Bits __attribute__((vector_size(P * sizeof(T))));
  x = x < C::low ? broadcast<T, P>(C::low) : x;
  x = x > C::high ? broadcast<T, P>(C::high) : x;
  const V shifted = x * static_cast<T>(1.4426950408889634) + C::magic;
  const V n = shifted - C::magic;
  const V r = (x - n * C::ln2_high) - n * C::ln2_low;
  V sum = broadcast<T, P>(static_cast<T>(inverse_factorials[C::degree]));
  for (int k = C::degree - 1; k >= 0; --k) sum = sum * r + static_cast<T>(inverse_factorials[k]);
  const Bits exponent = reinterpret_cast<Bits>(shifted) - reinterpret_cast<Bits>(broadcast<T, P>(C::magic));
  const Bits scale = (exponent + C::bias) << C::mantissa;
  return sum * reinterpret_cast<V>(scale);
}

/// The natural logarithm of normal positive numbers: x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh(s) with
/// s = (m - 1) / (m + 1), |s| < 0.172, by its series to s^9 (float) or s^23 (double). The absolute error is a few units
/// in the last place of 1 + |log x|.
template <class T, int P = most_lanes<T>>
[[gnu::always_inline]] inline Lanes<T, P> logarithm(Lanes<T, P> x) {
  using C = ExponentialConstants<T>;
  using V = Lanes<T, P>;
  typedef typename C::Bits Bits __attribute__((vector_size(P * sizeof(T))));
  // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
  const Bits half = reinterpret_cast<Bits>(broadcast<T, P>(static_cast<T>(0.7071067811865476)));
  const Bits k = (reinterpret_cast<Bits>(x) - half) >> C::mantissa;
  const V m = reinterpret_cast<V>(reinterpret_cast<Bits>(x) - (k << C::mantissa));
  const V s = (m - T{1}) / (m + T{1}), square = s * s;
  constexpr int terms = sizeof(T) == 4 ? 5 : 12;
  V sum = broadcast<T, P>(T{1} / (2 * terms - 1));
  for (int i = terms - 1; i > 0; --i) sum = sum * square + T{1} / (2 * i - 1);
  const V exponent = __builtin_convertvector(k, V);
  return T{2} * s * sum + exponent * static_cast<T>(0.6931471805599453);
}

}  // namespace strobe::cpu
