// Time encodings in whole registers, where the plain kernel calls cos or sin of the library per value. The argument is
// taken in double and reduced there: a = k pi + r with |r| <= pi / 2, so that cos a = (-1)^k cos r and sin a = (-1)^k
// sin r. pi is taken off in two parts (Cody and Waite, Software Manual for the Elementary Functions, 1980). The first
// has 24 bits: k times it is exact while k has 29, and r is right to 1e-14 up to arguments of 1.6e9. From there float
// goes on in float, with fits of least maximum of cos r (2e-10) and sin r / r (4e-9); double takes Taylor's series to
// r^20 and r^19, remainders below 3e-16. Cost: each value read and written once, about 4 instructions a value in float
// and 7 in double.
#include <bit>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/widened.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe {
namespace {

using namespace cpu;

// The outer loop goes over columns, so that a column's values stay in registers. It takes few rows at a time, so that
// the data for the next columns is still in the first-level cache; another thread may use half of it.
constexpr std::int64_t encoded_rows = 16, encoded_rows_per_task = 128;

using DoubleBits = Lanes<std::int64_t, wide_lanes>;

template <class T>
struct CircleSeries;

template <>
struct CircleSeries<float> {
  using Bits = std::int32_t;
  // Coefficients of r^0, r^2, ...
  static constexpr float cosine[] = {1.0f, -0.49999999f, 0.041666636f, -0.001388836f, 2.4760110e-5f, -2.6050657e-7f};
  static constexpr float sine[] = {1.0f, -0.16666658f, 0.0083330502f, -0.00019809017f, 2.6051076e-6f};
};

template <>
struct CircleSeries<double> {
  using Bits = std::int64_t;
  static constexpr double cosine[] = {1.0,
                                      -1.0 / 2,
                                      1.0 / 24,
                                      -1.0 / 720,
                                      1.0 / 40320,
                                      -1.0 / 3628800,
                                      1.0 / 479001600,
                                      -1.0 / 87178291200.0,
                                      1.0 / 20922789888000.0,
                                      -1.0 / 6402373705728000.0,
                                      1.0 / 2432902008176640000.0};
  static constexpr double sine[] = {1.0,
                                    -1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800.0,
                                    -1.0 / 1307674368000.0,
                                    1.0 / 355687428096000.0,
                                    -1.0 / 121645100408832000.0};
};

template <class T, int terms>
[[gnu::always_inline]] inline Lanes<T, most_lanes<T>> series(const T (&coefficients)[terms],
                                                             Lanes<T, most_lanes<T>> square) {
  Lanes<T, most_lanes<T>> sum = broadcast<T, most_lanes<T>>(coefficients[terms - 1]);
#pragma GCC unroll 16
  for (int i = terms - 2; i >= 0; --i) sum = sum * square + coefficients[i];
  return sum;
}

/// v = r of v = k pi + r; returns (-1)^k as a sign bit.
[[gnu::always_inline]] inline DoubleBits take_half_turns(Doubles& v) {
  constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
  constexpr double inverse_pi = 0.31830988618379067154;
  constexpr double pi_high = 3.1415927410125732, pi_low = -8.742278000372485e-8;
  const Doubles shifted = v * inverse_pi + to_integer, k = shifted - to_integer;
  v = (v - k * pi_high) - k * pi_low;
  return std::bit_cast<DoubleBits>(shifted) << 63;
}

[[gnu::always_inline]] inline Doubles with_sign(Doubles v, DoubleBits sign) {
  return std::bit_cast<Doubles>(std::bit_cast<DoubleBits>(v) ^ sign);
}

template <class T>
[[gnu::always_inline]] inline Lanes<T, most_lanes<T>> cosine(Widened<T> v) {
  constexpr int P = most_lanes<T>;
  using Bits = Lanes<typename CircleSeries<T>::Bits, P>;
  // The sign travels with r^2, which has none, so that it is narrowed as well.
#pragma GCC unroll 2
  for (Doubles& x : v.part) {
    const DoubleBits sign = take_half_turns(x);
    x = with_sign(x * x, sign);
  }
  const Bits square = std::bit_cast<Bits>(narrow<T>(v));
  const Bits sign = square & std::bit_cast<Bits>(broadcast<T, P>(-T{0}));
  const Lanes<T, P> value = series(CircleSeries<T>::cosine, std::bit_cast<Lanes<T, P>>(square ^ sign));
  return std::bit_cast<Lanes<T, P>>(std::bit_cast<Bits>(value) ^ sign);
}

template <class T>
[[gnu::always_inline]] inline Lanes<T, most_lanes<T>> sine(Widened<T> v) {
#pragma GCC unroll 2
  for (Doubles& x : v.part) {
    const DoubleBits sign = take_half_turns(x);
    x = with_sign(x, sign);
  }
  const Lanes<T, most_lanes<T>> r = narrow<T>(v);
  return r * series(CircleSeries<T>::sine, r * r);
}

/// Frequencies and phases of a register's columns.
template <class T>
struct EncodedColumns {
  Widened<T> frequency, phase;

  [[gnu::always_inline]] EncodedColumns(const Tensor& frequencies, const Tensor& phases, std::int64_t d, int lanes)
      : frequency(widen<T>(load_row<T, most_lanes<T>>(frequencies.data<T>() + d, lanes))),
        phase(widen<T>(load_row<T, most_lanes<T>>(phases.data<T>() + d, lanes))) {}

  [[gnu::always_inline]] Widened<T> arguments(double dt) const {
    Widened<T> v;
#pragma GCC unroll 2
    for (int i = 0; i < Widened<T>::parts; ++i) v.part[i] = dt * frequency.part[i] + phase.part[i];
    return v;
  }
};

/// Calls body(columns, their rows' time differences, rows, place of the first value, d, lanes) for registers that cover
/// rows [begin, end) of [R, D], column d first.
template <class T, class Op, class Body>
[[gnu::always_inline]] inline void for_encoded(const Op& op, std::int64_t begin, std::int64_t end, const Body& body) {
  const std::int64_t width = op.frequency.columns();
  for (; begin < end; begin += encoded_rows) {
    const std::int64_t rows = std::min(encoded_rows, end - begin);
    double dt[encoded_rows];
    for (std::int64_t r = 0; r < rows; ++r) dt[r] = static_cast<double>(op.dt.template data<T>()[begin + r]);
    for_lanes<T>(
        0, width, [&](std::int64_t d, int lanes) __attribute__((always_inline)) {
          const EncodedColumns<T> columns(op.frequency, op.phase, d, lanes);
          body(columns, dt, rows, begin * width + d, d, lanes);
        });
  }
}

/// Encodings of `rows` rows in columns d, d + 1, ... of a register.
template <class T>
[[gnu::always_inline]] inline void encode_columns(const EncodedColumns<T>& columns, const double* dt, std::int64_t rows,
                                                  T* y, std::int64_t width, int lanes) {
  for (std::int64_t r = 0; r < rows; ++r)
    store_first<T, most_lanes<T>>(y + r * width, cosine<T>(columns.arguments(dt[r])), lanes);
}

void run_encoding(const TimeEncoding& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.y.columns();
    for_ranges(context, op.y.rows(), encoded_rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for_encoded<T>(
          op, begin, end,
          [&](const EncodedColumns<T>& columns, const double* dt, std::int64_t rows, std::int64_t at, std::int64_t,
              int lanes) __attribute__((always_inline)) {
            encode_columns<T>(columns, dt, rows, op.y.data<T>() + at, width, lanes);
          });
    });
  });
}

/// Adds the gradients of a register's columns over `rows` rows to dw and db.
template <class T>
[[gnu::always_inline]] inline void add_columns(const EncodedColumns<T>& columns, const double* dt, std::int64_t rows,
                                               const T* dy, std::int64_t width, int lanes, double* dw, double* db) {
  Widened<T> of_frequency{}, of_phase{};
  for (std::int64_t r = 0; r < rows; ++r) {
    const Lanes<T, most_lanes<T>> gradient = load_row<T, most_lanes<T>>(dy + r * width, lanes);
    const Widened<T> slope = widen<T>(gradient * sine<T>(columns.arguments(dt[r])));
#pragma GCC unroll 2
    for (int i = 0; i < Widened<T>::parts; ++i) {
      of_phase.part[i] -= slope.part[i];
      of_frequency.part[i] -= slope.part[i] * dt[r];
    }
  }
  add_widened<T>(of_frequency, dw, lanes);
  add_widened<T>(of_phase, db, lanes);
}

void run_encoding_backward(const TimeEncodingBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.dy.columns();
    const auto add_rows = [&](std::int64_t begin, std::int64_t end, double* sums) {
      for_encoded<T>(
          op, begin, end,
          [&](const EncodedColumns<T>& columns, const double* dt, std::int64_t rows, std::int64_t at, std::int64_t d,
              int lanes) __attribute__((always_inline)) {
            add_columns<T>(columns, dt, rows, op.dy.data<T>() + at, width, lanes, sums + d, sums + width + d);
          });
    };
    add_weight_gradients<T>(context, op.dy.rows(), encoded_rows_per_task, op.dfrequency, width, op.dphase, width,
                            add_rows);
  });
}

const RegisterKernel<TimeEncoding> fast_encoding{"cpu", {"vector", 10, nullptr, run_encoding}};
const RegisterKernel<TimeEncodingBackward> fast_encoding_backward{"cpu",
                                                                  {"vector", 10, nullptr, run_encoding_backward}};

}  // namespace
}  // namespace strobe
