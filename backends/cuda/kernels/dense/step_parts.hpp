// Rows of steps, cut into parts: only the device knows where a step's rows begin, so every step gets the same number of
// parts, a number that depends on shapes only.
#pragma once

#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

struct StepParts {
  const std::int64_t* step_rows;  // [steps + 1], in device memory
  std::int64_t steps, parts;

  __device__ std::int64_t begin(std::int64_t step, std::int64_t part) const {
    const std::int64_t first = step_rows[step], rows = step_rows[step + 1] - first;
    return first + rows * part / parts;
  }
  __device__ std::int64_t end(std::int64_t step, std::int64_t part) const { return begin(step, part + 1); }

  /// The step of a row: the last one that begins at or before it.
  __device__ std::int64_t step_of(std::int64_t row) const {
    std::int64_t low = 0, high = steps;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      if (step_rows[middle] <= row) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

/// About `grain` rows a part, with at most 32 MiB of `stride` doubles for every part of every step.
inline StepParts step_parts(const Tensor& step_rows, std::int64_t rows, std::int64_t grain, std::int64_t stride) {
  constexpr std::int64_t most_step_parts = 256, most_sums = std::int64_t{1} << 22;
  const std::int64_t steps = step_rows.rows() - 1;
  if (steps <= 0) return {step_rows.data<std::int64_t>(), 0, 1};
  std::int64_t parts = divide_up(divide_up(rows, steps), grain);
  const std::int64_t room = most_sums / (steps * (stride > 0 ? stride : 1));
  if (parts > room) parts = room;
  if (parts > most_step_parts) parts = most_step_parts;
  return {step_rows.data<std::int64_t>(), steps, parts < 1 ? 1 : parts};
}

/// dw [steps, weights] (+)= the sums of each step's parts in order; the parts' sums lie `stride` apart.
template <class T>
__global__ void __launch_bounds__(256, 1) add_step_parts(T* dw, StepParts steps, std::int64_t weights,
                                                         std::int64_t stride, const double* sums, bool accumulate) {
  for (std::int64_t i = grid_thread(); i < steps.steps * weights; i += grid_threads()) {
    const double* const of_step = sums + i / weights * steps.parts * stride + i % weights;
    const double before = accumulate ? static_cast<double>(dw[i]) : 0.0;
    dw[i] = static_cast<T>(add_in_order(before, of_step, 0, steps.parts, 1, stride));
  }
}

}  // namespace strobe::cuda
