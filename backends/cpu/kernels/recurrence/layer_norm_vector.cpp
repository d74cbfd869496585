// Normalisation of rows in whole registers: the sums of a row are kept in double, a register of them, and added lane by
// lane at its end; the plain kernel waits for each addition. A row stays in the cache while it is gone through: once
// for its mean, once for the variance about it, which a large mean cannot spoil, and once or twice for what is asked
// for. Sums over rows are kept per range of rows and added in the order of the ranges. Cost: each value read and
// written once; about 2 instructions a value and pass.
#include <cmath>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/widened.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t normalised_rows = 128;

/// A row, less its mean, over its deviation.
template <class T>
struct CentredRow {
  static constexpr int P = most_lanes<T>;
  const T* x;
  double mean = 0, inverse = 0;

  CentredRow(const T* row, std::int64_t width, double epsilon) : x(row) {
    Doubles sum{}, squares{};
    for_lanes<T>(
        0, width, [&](std::int64_t f, int lanes) __attribute__((always_inline)) {
          const Widened<T> v = widen<T>(load_row<T, P>(x + f, lanes));
#pragma GCC unroll 2
          for (int i = 0; i < Widened<T>::parts; ++i) sum += v.part[i];
        });
    const double count = width;
    mean = sum_of(sum) / count;
    for_lanes<T>(
        0, width, [&](std::int64_t f, int lanes) __attribute__((always_inline)) {
          const Widened<T> v = widen<T>(load_row<T, P>(x + f, lanes));
#pragma GCC unroll 2
          for (int i = 0; i < Widened<T>::parts; ++i) {
            // Lanes after the row hold zero, so they would add the mean's distance from zero.
            Doubles apart = v.part[i] - mean;
            if (lanes < P) apart = keep_first<double, wide_lanes>(apart, lanes_of_part(lanes, i));
            squares += apart * apart;
          }
        });
    inverse = 1.0 / std::sqrt(sum_of(squares) / count + epsilon);
  }

  [[gnu::always_inline]] Widened<T> at(std::int64_t f, int lanes) const {
    Widened<T> v = widen<T>(load_row<T, P>(x + f, lanes));
#pragma GCC unroll 2
    for (int i = 0; i < Widened<T>::parts; ++i) v.part[i] = (v.part[i] - mean) * inverse;
    return v;
  }
};

void run_normalise(const LayerNorm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const std::int64_t width = op.x.columns();
    const T *x = op.x.data<T>(), *gain = op.gain.data<T>(), *shift = op.shift.data<T>();
    T* const y = op.y.data<T>();
    const double epsilon = op.epsilon;
    for_ranges(context, op.x.rows(), normalised_rows, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const CentredRow<T> row(x + r * width, width, epsilon);
        T* const to = y + r * width;
        for_lanes<T>(
            0, width, [ =, &row ](std::int64_t f, int lanes) __attribute__((always_inline)) {
              const Lanes<T, P> centred = narrow<T>(row.at(f, lanes));
              store_first<T, P>(to + f, load_row<T, P>(gain + f, lanes) * centred + load_row<T, P>(shift + f, lanes),
                                lanes);
            });
      }
    });
  });
}

/// Sums over a row of the gradient times the gain, and of that times the centred values.
struct RowSlopes {
  double sum = 0, weighted = 0;
};

/// Adds row r's part of dgain and dshift to `sums`, `width` apart.
template <class T>
RowSlopes add_row_sums(const LayerNormBackward& op, const CentredRow<T>& row, const T* dy, double* sums) {
  constexpr int P = most_lanes<T>;
  const std::int64_t width = op.x.columns();
  const T* const gain = op.gain.data<T>();
  Doubles sum{}, weighted{};
  for_lanes<T>(
      0, width, [&](std::int64_t f, int lanes) __attribute__((always_inline)) {
        const Widened<T> d = widen<T>(load_row<T, P>(dy + f, lanes)), scale = widen<T>(load_row<T, P>(gain + f, lanes));
        Widened<T> of_gain = row.at(f, lanes);
#pragma GCC unroll 2
        for (int i = 0; i < Widened<T>::parts; ++i) {
          of_gain.part[i] *= d.part[i];
          sum += d.part[i] * scale.part[i];
          weighted += of_gain.part[i] * scale.part[i];
        }
        add_widened<T>(of_gain, sums + f, lanes);
        add_widened<T>(d, sums + width + f, lanes);
      });
  return {sum_of(sum), sum_of(weighted)};
}

/// dx of a row.
template <class T>
void put_row_gradient(const LayerNormBackward& op, const CentredRow<T>& row, const T* dy, const RowSlopes& slopes,
                      T* dx) {
  constexpr int P = most_lanes<T>;
  const std::int64_t width = op.x.columns();
  const T* const gain = op.gain.data<T>();
  const bool accumulate = op.accumulate_dx;
  const double mean = slopes.sum / static_cast<double>(width), weighted = slopes.weighted / static_cast<double>(width);
  for_lanes<T>(
      0, width, [&](std::int64_t f, int lanes) __attribute__((always_inline)) {
        const Widened<T> d = widen<T>(load_row<T, P>(dy + f, lanes)), scale = widen<T>(load_row<T, P>(gain + f, lanes));
        Widened<T> v = row.at(f, lanes);
#pragma GCC unroll 2
        for (int i = 0; i < Widened<T>::parts; ++i)
          v.part[i] = row.inverse * (d.part[i] * scale.part[i] - mean - v.part[i] * weighted);
        const Lanes<T, P> value = narrow<T>(v);
        store_first<T, P>(dx + f, accumulate ? load_first<T, P>(dx + f, lanes) + value : value, lanes);
      });
}

void run_normalise_backward(const LayerNormBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.x.columns();
    const auto body = [&](std::int64_t begin, std::int64_t end, double* sums) {
      for (std::int64_t r = begin; r < end; ++r) {
        const CentredRow<T> row(op.x.data<T>() + r * width, width, op.epsilon);
        const T* const dy = op.dy.data<T>() + r * width;
        const RowSlopes slopes = add_row_sums<T>(op, row, dy, sums);
        if (op.dx.defined()) put_row_gradient<T>(op, row, dy, slopes, op.dx.data<T>() + r * width);
      }
    };
    add_weight_gradients<T>(context, op.x.rows(), normalised_rows, op.dgain, width, op.dshift, width, body);
  });
}

const RegisterKernel<LayerNorm> fast_norm{"cpu", {"vector", 10, nullptr, run_normalise}};
const RegisterKernel<LayerNormBackward> fast_norm_backward{"cpu", {"vector", 10, nullptr, run_normalise_backward}};

}  // namespace
}  // namespace strobe
