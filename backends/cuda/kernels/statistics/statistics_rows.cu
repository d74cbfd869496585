// Step sums and normalisation (Ioffe and Szegedy, ICML'15) of rows of at most 256 values, and their gradients: one
// block takes a part of a step's rows, as many rows side by side as it has threads for, so that neighbouring threads
// read neighbouring values and each stays with one feature, whose mean and deviation it computes once. Sums are in
// double: per thread in order of its rows, then over the block's threads of a feature in order; parts and steps are
// added as by the plain kernels (step_statistics.hpp). The number of parts depends on shapes only. Cost: the compulsory
// bytes and 8 F (or 16 F) bytes of partial sums per part; one launch forward and for dx, two for sums, three for what
// flows back into them.
#include "backends/cuda/kernels/statistics/step_statistics.hpp"

namespace strobe::cuda {
namespace statistics_rows_kernels {

constexpr int threads = 256;
constexpr std::int64_t rows_per_part = 128;

/// The rows of the calling block's part that the calling thread visits, and its feature.
struct OwnRows {
  std::int64_t step, begin, end, cell, feature;
  int apart;    // rows that the block visits at once
  bool active;  // threads beyond a whole number of rows have none

  __device__ OwnRows(const StepParts& steps, std::int64_t width) : step(blockIdx.x / steps.parts) {
    const std::int64_t part = blockIdx.x % steps.parts;
    apart = static_cast<int>(blockDim.x / width);
    active = threadIdx.x < apart * width;
    feature = threadIdx.x % width;
    cell = step * width + feature;
    begin = steps.begin(step, part) + threadIdx.x / width;
    end = active ? steps.end(step, part) : begin;
  }
};

/// The sum of `own` over the block's threads of each feature, in order of threads, to sums[feature].
__device__ void add_features(double own, const OwnRows& rows, std::int64_t width, double* shared, double* sums) {
  shared[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x < width) {
    double total = 0;
    for (int row = 0; row < rows.apart; ++row) total += shared[row * width + threadIdx.x];
    sums[threadIdx.x] = total;
  }
  __syncthreads();
}

template <class T>
__global__ void sum_rows(StepSumsValues<T> s, StepParts steps, double* parts) {
  STROBE_SHARED(double[threads], shared);
  const OwnRows rows(steps, s.width);
  const double mean = s.mean(rows.cell);
  double sum = 0;
#pragma unroll 4
  for (std::int64_t r = rows.begin; r < rows.end; r += rows.apart) {
    const double value = static_cast<double>(s.x[r * s.width + rows.feature]) - mean;
    sum += s.totals == nullptr ? value : value * value;
  }
  add_features(sum, rows, s.width, shared, parts + blockIdx.x * s.width);
}

template <class T>
__global__ void standardise(Statistics<T> s, StepParts steps, const T* x, const T* shift, T* y) {
  const OwnRows rows(steps, s.width);
  const T mean = static_cast<T>(s.mean(rows.cell)), inverse = static_cast<T>(s.inverse_deviation(rows.cell)),
          gain = s.gain[rows.feature], offset = shift[rows.feature];
#pragma unroll 4
  for (std::int64_t r = rows.begin; r < rows.end; r += rows.apart) {
    const std::int64_t at = r * s.width + rows.feature;
    y[at] = gain * (x[at] - mean) * inverse + offset;
  }
}

/// parts [steps, parts, 2, F] receives the sums of dy (x - mean) inverse, and of dy.
template <class T>
__global__ void gradient_rows(Statistics<T> s, StandardiseGradient<T> g, StepParts steps, double* parts) {
  STROBE_SHARED(double[threads], shared);
  const OwnRows rows(steps, s.width);
  const double mean = s.mean(rows.cell), inverse = s.inverse_deviation(rows.cell);
  double scaled = 0, plain = 0;
  for (std::int64_t r = rows.begin; r < rows.end; r += rows.apart) {
    const std::int64_t at = r * s.width + rows.feature;
    const double dy = g.dy[at];
    scaled += dy * (static_cast<double>(g.x[at]) - mean) * inverse;
    plain += dy;
  }
  double* const own = parts + 2 * blockIdx.x * s.width;
  add_features(scaled, rows, s.width, shared, own);
  add_features(plain, rows, s.width, shared, own + s.width);
}

template <class T>
__global__ void input_gradient(Statistics<T> s, InputGradient<T> g, StepParts steps) {
  const OwnRows rows(steps, s.width);
  g.put(s, rows.cell, rows.feature, rows.begin, rows.end, rows.apart);
}

bool fits(const Tensor& x) { return x.columns() >= 1 && x.columns() <= threads; }
bool supports_sums(const StepSums& op) { return fits(op.x); }
bool supports_standardise(const Standardise& op) { return fits(op.x); }
bool supports_standardise_backward(const StandardiseBackward& op) { return fits(op.x); }
bool supports_input_backward(const StandardiseInputBackward& op) { return fits(op.x); }

void run_sums(const StepSums& op, KernelContext& context) {
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, op.x.columns());
  if (steps.steps == 0) return;
  double* const parts = part_sums_memory(context, steps.steps * steps.parts, op.x.columns());
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const StepSumsValues<T> s = step_sums_of<T>(op);
    launch(context, steps.steps * steps.parts, threads, 0, sum_rows<T>, s, steps, parts);
    launch_add_sum_parts(context, s, steps, parts);
  });
}

void run_standardise(const Standardise& op, KernelContext& context) {
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, 0);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, steps.steps * steps.parts, threads, 0, standardise<T>, statistics_of<T>(op), steps, op.x.data<T>(),
           op.shift.data<T>(), op.y.data<T>());
  });
}

void run_standardise_backward(const StandardiseBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns();
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, 2 * width);
  if (steps.steps == 0) return;
  double* const parts = part_sums_memory(context, steps.steps * (steps.parts + 1), 2 * width);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const Statistics<T> s = statistics_of<T>(op);
    const StandardiseGradient<T> g = standardise_gradient_of<T>(op);
    launch(context, steps.steps * steps.parts, threads, 0, gradient_rows<T>, s, g, steps, parts);
    launch_gradient_sums(context, s, g, steps, parts, parts + steps.steps * steps.parts * 2 * width);
  });
}

void run_input_backward(const StandardiseInputBackward& op, KernelContext& context) {
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, 0);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, steps.steps * steps.parts, threads, 0, input_gradient<T>, statistics_of<T>(op),
           input_gradient_of<T>(op), steps);
  });
}

const RegisterKernel<StepSums> sums{"cuda", {"rows", 10, supports_sums, run_sums}};
const RegisterKernel<Standardise> rows{"cuda", {"rows", 10, supports_standardise, run_standardise}};
const RegisterKernel<StandardiseBackward> rows_backward{
    "cuda", {"rows", 10, supports_standardise_backward, run_standardise_backward}};
const RegisterKernel<StandardiseInputBackward> rows_input{"cuda",
                                                          {"rows", 10, supports_input_backward, run_input_backward}};

}  // namespace statistics_rows_kernels
}  // namespace strobe::cuda
