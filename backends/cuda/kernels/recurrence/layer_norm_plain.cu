// Normalisation of rows: one warp a row, whose lanes take columns in turns and add their sums as a tree, in double:
// mean first, then the variance about it, so that a large mean costs no digits. Backward the warps leave mean and
// deviation of their rows for a second launch, in which one thread takes a column of a range of rows; a third adds the
// ranges. Cost: forward every value read thrice, two times from a cache; one launch. Backward five times and
// twice more; three launches.
#include <cmath>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe::cuda {
namespace layer_norm_plain_kernels {

constexpr int threads = 128, row_warps = threads / warp_lanes;

/// Mean of a row and 1 / sqrt(variance + epsilon).
struct Moments {
  double mean, inverse;
  template <class T>
  __device__ double centred(T x) const {
    return (static_cast<double>(x) - mean) * inverse;
  }
};

/// Every lane of the warp must call it.
template <class T>
__device__ Moments moments_of(const T* x, std::int64_t width, double epsilon) {
  double sum = 0, squares = 0;
  for (std::int64_t f = lane(); f < width; f += warp_lanes) sum += static_cast<double>(x[f]);
  const double mean = warp_sum(sum) / static_cast<double>(width);
  for (std::int64_t f = lane(); f < width; f += warp_lanes) {
    const double apart = static_cast<double>(x[f]) - mean;
    squares += apart * apart;
  }
  return {mean, 1.0 / std::sqrt(warp_sum(squares) / static_cast<double>(width) + epsilon)};
}

__device__ inline std::int64_t first_row() { return static_cast<std::int64_t>(blockIdx.x) * row_warps + warp(); }
__device__ inline std::int64_t rows_at_once() { return static_cast<std::int64_t>(gridDim.x) * row_warps; }

template <class T>
struct Normed {
  const T *x, *gain, *shift;
  std::int64_t rows, width;
  double epsilon;
};

template <class T>
__global__ void normalise(Normed<T> in, T* y) {
#pragma unroll 1
  for (std::int64_t row = first_row(); row < in.rows; row += rows_at_once()) {
    const T* const x = in.x + row * in.width;
    const Moments moments = moments_of(x, in.width, in.epsilon);
    for (std::int64_t f = lane(); f < in.width; f += warp_lanes)
      y[row * in.width + f] = in.gain[f] * static_cast<T>(moments.centred(x[f])) + in.shift[f];
  }
}

/// Leaves the rows' moments; stores dx or adds to it, unless it is null.
template <class T>
__global__ void normalise_backward(Normed<T> in, const T* dy, T* dx, bool accumulate, Moments* moments) {
#pragma unroll 1
  for (std::int64_t row = first_row(); row < in.rows; row += rows_at_once()) {
    const T *x = in.x + row * in.width, *d = dy + row * in.width;
    const Moments m = moments_of(x, in.width, in.epsilon);
    if (lane() == 0) moments[row] = m;
    if (dx == nullptr) continue;
    double sum = 0, weighted = 0;
    for (std::int64_t f = lane(); f < in.width; f += warp_lanes) {
      const double slope = static_cast<double>(d[f]) * static_cast<double>(in.gain[f]);
      sum += slope;
      weighted += slope * m.centred(x[f]);
    }
    sum = warp_sum(sum) / static_cast<double>(in.width);
    weighted = warp_sum(weighted) / static_cast<double>(in.width);
    for (std::int64_t f = lane(); f < in.width; f += warp_lanes) {
      const double slope = static_cast<double>(d[f]) * static_cast<double>(in.gain[f]);
      const T value = static_cast<T>(m.inverse * (slope - sum - m.centred(x[f]) * weighted));
      T* const to = dx + row * in.width + f;
      *to = accumulate ? *to + value : value;
    }
  }
}

/// Leaves the sums of a range of rows in a row of `sums`: of the gains' gradients, then of the shifts'.
template <class T>
__global__ void sum_columns(Normed<T> in, const T* dy, const Moments* moments, RowParts parts, double* sums) {
#pragma unroll 1
  for (std::int64_t at = grid_thread(); at < parts.count * in.width; at += grid_threads()) {
    const std::int64_t range = at / in.width, column = at % in.width, end = parts.end(range);
    double of_gain = 0, of_shift = 0;
    for (std::int64_t row = parts.begin(range); row < end; ++row) {
      const std::int64_t i = row * in.width + column;
      const double d = dy[i];
      of_gain += d * moments[row].centred(in.x[i]);
      of_shift += d;
    }
    double* const to = sums + range * 2 * in.width + column;
    to[0] = of_gain;
    to[in.width] = of_shift;
  }
}

void run_norm(const LayerNorm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Normed<T> in{op.x.data<T>(), op.gain.data<T>(), op.shift.data<T>(), op.x.rows(), op.x.columns(), op.epsilon};
    launch(context, blocks_for(in.rows, row_warps), threads, 0, normalise<T>, in, op.y.data<T>());
  });
}

void run_norm_backward(const LayerNormBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const Normed<T> in{op.x.data<T>(), op.gain.data<T>(), nullptr, op.x.rows(), op.x.columns(), op.epsilon};
    const RowParts parts = row_parts(in.rows, 2 * in.width, 1);
    if (parts.count == 0) return;
    const std::size_t first = scratch_part(in.rows, sizeof(Moments));
    std::byte* const memory = context.scratch(first + scratch_part(parts.count * 2 * in.width, sizeof(double)));
    auto* const moments = reinterpret_cast<Moments*>(memory);
    auto* const sums = reinterpret_cast<double*>(memory + first);
    launch(context, blocks_for(in.rows, row_warps), threads, 0, normalise_backward<T>, in, op.dy.data<T>(),
           op.dx.data<T>(), op.accumulate_dx, moments);
    launch(context, blocks_for(parts.count * in.width, threads), threads, 0, sum_columns<T>, in, op.dy.data<T>(),
           moments, parts, sums);
    add_part_sums<T>(context, op.dgain, in.width, op.dshift, sums, parts.count, 2 * in.width);
  });
}

const RegisterKernel<LayerNorm> norm_plain{"cuda", {"plain", 0, nullptr, run_norm}};
const RegisterKernel<LayerNormBackward> norm_back_plain{"cuda", {"plain", 0, nullptr, run_norm_backward}};

}  // namespace layer_norm_plain_kernels
}  // namespace strobe::cuda
