// Plain batch normalisation (Ioffe and Szegedy, ICML'15) of each step, and its gradient. Steps are cut into parts; one
// thread walks the rows of one feature of one part. The gradient's sums over rows are taken in double per part, added
// up per step in order of parts (which gives dtotals and dsquares) and over steps in order of steps (dgain and dshift).
// The number of parts depends on shapes only. Cost: x, and dy backward, read once, y or dx written once; one launch
// forward and for dx, three for what flows back into the sums.
#include "backends/cuda/kernels/statistics/step_statistics.hpp"

namespace strobe::cuda {
namespace standardise_plain_kernels {

constexpr int threads = 256;
constexpr std::int64_t rows_per_part = 64;

template <class T>
__global__ void standardise(Statistics<T> s, StepParts steps, const T* x, const T* shift, T* y) {
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * s.width; i += grid_threads()) {
    const std::int64_t part = i / s.width, f = i % s.width, t = part / steps.parts, cell = t * s.width + f;
    const std::int64_t end = steps.end(t, part % steps.parts);
    const T mean = static_cast<T>(s.mean(cell)), inverse = static_cast<T>(s.inverse_deviation(cell));
    for (std::int64_t r = steps.begin(t, part % steps.parts); r < end; ++r) {
      y[r * s.width + f] = s.gain[f] * (x[r * s.width + f] - mean) * inverse + shift[f];
    }
  }
}

/// parts [steps, parts, 2, F] receives the sums of dy (x - mean) inverse, and of dy.
template <class T>
__global__ void gradient_rows(Statistics<T> s, StandardiseGradient<T> g, StepParts steps, double* parts) {
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * s.width; i += grid_threads()) {
    const std::int64_t part = i / s.width, f = i % s.width, t = part / steps.parts, cell = t * s.width + f;
    const std::int64_t end = steps.end(t, part % steps.parts);
    const double mean = s.mean(cell), inverse = s.inverse_deviation(cell);
    double scaled = 0, plain = 0;
    for (std::int64_t r = steps.begin(t, part % steps.parts); r < end; ++r) {
      const std::int64_t at = r * s.width + f;
      const double dy = g.dy[at];
      scaled += dy * (static_cast<double>(g.x[at]) - mean) * inverse;
      plain += dy;
    }
    parts[2 * part * s.width + f] = scaled;
    parts[(2 * part + 1) * s.width + f] = plain;
  }
}

template <class T>
__global__ void input_gradient(Statistics<T> s, InputGradient<T> g, StepParts steps) {
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * s.width; i += grid_threads()) {
    const std::int64_t part = i / s.width, f = i % s.width, t = part / steps.parts;
    g.put(s, t * s.width + f, f, steps.begin(t, part % steps.parts), steps.end(t, part % steps.parts), 1);
  }
}

void run_standardise(const Standardise& op, KernelContext& context) {
  const std::int64_t width = op.x.columns();
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, width);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(steps.steps * steps.parts * width, threads), threads, 0, standardise<T>,
           statistics_of<T>(op), steps, op.x.data<T>(), op.shift.data<T>(), op.y.data<T>());
  });
}

void run_standardise_backward(const StandardiseBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns();
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, 2 * width);
  if (steps.steps == 0 || width == 0) return;
  double* const parts = part_sums_memory(context, steps.steps * (steps.parts + 1), 2 * width);
  double* const sums = parts + steps.steps * steps.parts * 2 * width;
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const Statistics<T> s = statistics_of<T>(op);
    const StandardiseGradient<T> g = standardise_gradient_of<T>(op);
    launch(context, blocks_for(steps.steps * steps.parts * width, threads), threads, 0, gradient_rows<T>, s, g, steps,
           parts);
    launch_gradient_sums(context, s, g, steps, parts, sums);
  });
}

void run_input_backward(const StandardiseInputBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns();
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, width);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(steps.steps * steps.parts * width, threads), threads, 0, input_gradient<T>,
           statistics_of<T>(op), input_gradient_of<T>(op), steps);
  });
}

const RegisterKernel<Standardise> plain{"cuda", {"plain", 0, nullptr, run_standardise}};
const RegisterKernel<StandardiseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_standardise_backward}};
const RegisterKernel<StandardiseInputBackward> input_plain{"cuda", {"plain", 0, nullptr, run_input_backward}};

}  // namespace standardise_plain_kernels
}  // namespace strobe::cuda
