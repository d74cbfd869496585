// Plain sums over the rows of each step. Steps are cut into parts; one thread walks the rows of one
// feature of one part and sums in double, a second launch adds a step's parts in order. The number of parts depends on
// shapes only. Cost: x read once; two launches.
#include "backends/cuda/kernels/statistics/step_statistics.hpp"

namespace strobe::cuda {
namespace step_sums_plain_kernels {

constexpr int threads = 256;
constexpr std::int64_t rows_per_part = 64;

/// parts [steps, parts, F].
template <class T>
__global__ void sum_parts(StepSumsValues<T> s, StepParts steps, double* parts) {
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * s.width; i += grid_threads()) {
    const std::int64_t part = i / s.width, f = i % s.width, t = part / steps.parts;
    const double mean = s.mean(t * s.width + f);
    const std::int64_t end = steps.end(t, part % steps.parts);
    double sum = 0;
    for (std::int64_t r = steps.begin(t, part % steps.parts); r < end; ++r) {
      const double value = static_cast<double>(s.x[r * s.width + f]) - mean;
      sum += s.totals == nullptr ? value : value * value;
    }
    parts[i] = sum;
  }
}

void run_sums(const StepSums& op, KernelContext& context) {
  const std::int64_t width = op.x.columns();
  const StepParts steps = step_parts(op.step_rows, op.x.rows(), rows_per_part, width);
  if (steps.steps == 0 || width == 0) return;
  double* const parts = part_sums_memory(context, steps.steps * steps.parts, width);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const StepSumsValues<T> s = step_sums_of<T>(op);
    launch(context, blocks_for(steps.steps * steps.parts * width, threads), threads, 0, sum_parts<T>, s, steps, parts);
    launch_add_sum_parts(context, s, steps, parts);
  });
}

const RegisterKernel<StepSums> plain{"cuda", {"plain", 0, nullptr, run_sums}};

}  // namespace step_sums_plain_kernels
}  // namespace strobe::cuda
