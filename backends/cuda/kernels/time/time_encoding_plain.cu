// Time encodings: one thread a value forward; backward one thread a column of a range of rows, so that neighbouring
// threads read neighbouring columns, and a second launch that adds the ranges. The argument is taken in double and
// reduced there, a = k pi + r with |r| <= pi / 2 (Cody and Waite, pi in two parts, both products exact or rounded once
// as they are fused); only r goes on in the precision of the values, so that float pays for 5 operations in double.
// Cost: every value read and written once; two launches backward.
#include <cmath>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe::cuda {
namespace time_encoding_plain_kernels {

constexpr int threads = 256;

/// An angle as r and k of k pi + r, |r| <= pi / 2; of k only whether it is odd.
template <class T>
struct Angle {
  T r;
  bool odd;

  __device__ explicit Angle(double angle) {
    constexpr double inverse_pi = 0.31830988618379067154, pi_high = 3.141592653589793116,
                     pi_low = 1.2246467991473532e-16;
    const double k = std::rint(angle * inverse_pi);
    r = static_cast<T>(std::fma(-k, pi_low, std::fma(-k, pi_high, angle)));
    odd = (static_cast<long long>(k) & 1) != 0;
  }
  __device__ T cosine() const { return odd ? -std::cos(r) : std::cos(r); }
  __device__ T sine() const { return odd ? -std::sin(r) : std::sin(r); }
};

/// The inputs of both directions.
template <class T>
struct Encoded {
  const T *dt, *frequency, *phase;
  std::int64_t width;

  __device__ Angle<T> angle(std::int64_t row, std::int64_t column) const {
    return Angle<T>(static_cast<double>(dt[row]) * static_cast<double>(frequency[column]) +
                    static_cast<double>(phase[column]));
  }
};

template <class T>
__global__ void encode(Encoded<T> in, T* y, std::int64_t count) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads())
    y[i] = in.angle(i / in.width, i % in.width).cosine();
}

/// Leaves the sums of a range of rows in a row of `sums`: of the frequencies' gradients, then of the phases'.
template <class T>
__global__ void encode_backward(Encoded<T> in, const T* dy, RowParts parts, double* sums) {
#pragma unroll 1
  for (std::int64_t i = grid_thread(); i < parts.count * in.width; i += grid_threads()) {
    const std::int64_t range = i / in.width, column = i % in.width, end = parts.end(range);
    double of_frequency = 0, of_phase = 0;
    for (std::int64_t row = parts.begin(range); row < end; ++row) {
      const double slope = -in.angle(row, column).sine() * dy[row * in.width + column];
      of_frequency += slope * static_cast<double>(in.dt[row]);
      of_phase += slope;
    }
    double* const to = sums + range * 2 * in.width + column;
    to[0] = of_frequency;
    to[in.width] = of_phase;
  }
}

template <class T, class Op>
Encoded<T> inputs_of(const Op& op) {
  return {op.dt.template data<T>(), op.frequency.template data<T>(), op.phase.template data<T>(),
          op.frequency.columns()};
}

void run_encoding(const TimeEncoding& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.y.elements();
    launch(context, blocks_for(count, threads), threads, 0, encode<T>, inputs_of<T>(op), op.y.data<T>(), count);
  });
}

void run_encoding_backward(const TimeEncodingBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.dy.columns();
    const RowParts parts = row_parts(op.dy.rows(), 2 * width, 1);
    if (parts.count == 0) return;
    double* const sums = part_sums_memory(context, parts.count, 2 * width);
    launch(context, blocks_for(parts.count * width, threads), threads, 0, encode_backward<T>, inputs_of<T>(op),
           op.dy.data<T>(), parts, sums);
    add_part_sums<T>(context, op.dfrequency, width, op.dphase, sums, parts.count, 2 * width);
  });
}

const RegisterKernel<TimeEncoding> encoding_plain{"cuda", {"plain", 0, nullptr, run_encoding}};
const RegisterKernel<TimeEncodingBackward> encoding_back_plain{"cuda", {"plain", 0, nullptr, run_encoding_backward}};

}  // namespace time_encoding_plain_kernels
}  // namespace strobe::cuda
