// Shared by the kernels of step sums and of normalisation: their tensors as kernels see them, and the launches that add
// the sums of parts of steps, in order of parts and then of steps. Parts come from step_parts.hpp.
#pragma once

#include <cmath>

#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/operations/operations_statistics.hpp"

namespace strobe::cuda {

/// Cells that the sums of each step span on all ranks; 1 for a step without any, whose values nobody reads.
struct CountedCells {
  const std::int64_t* counts;  // [steps] in device memory, or null: `all` in every step
  std::int64_t all;

  __device__ double of(std::int64_t step) const {
    return static_cast<double>(max(counts == nullptr ? all : counts[step], std::int64_t{1}));
  }
};

template <class T>
struct StepSumsValues {
  const T *x, *totals;  // totals is null: sums of x itself
  T* sums;
  std::int64_t width;
  CountedCells cells;

  __device__ double mean(std::int64_t cell) const {
    return totals == nullptr ? 0.0 : static_cast<double>(totals[cell]) / cells.of(cell / width);
  }
};

/// sums = what the parts [steps, parts, F] of each step add up to.
template <class T>
__global__ void add_sum_parts(StepSumsValues<T> s, StepParts steps, const double* parts) {
  for (std::int64_t i = grid_thread(); i < steps.steps * s.width; i += grid_threads()) {
    const double* const of_step = parts + i / s.width * steps.parts * s.width + i % s.width;
    double total = 0;
    for (std::int64_t part = 0; part < steps.parts; ++part) total += of_step[part * s.width];
    s.sums[i] = static_cast<T>(total);
  }
}

/// The statistics that both directions read.
template <class T>
struct Statistics {
  const T *totals, *squares, *gain;
  std::int64_t width;
  CountedCells cells;
  double epsilon;

  __device__ double mean(std::int64_t cell) const { return static_cast<double>(totals[cell]) / cells.of(cell / width); }
  __device__ double inverse_deviation(std::int64_t cell) const {
    return 1.0 / std::sqrt(static_cast<double>(squares[cell]) / cells.of(cell / width) + epsilon);
  }
};

template <class Op>
CountedCells counted_cells(const Op& op) {
  return {op.counts.template data<std::int64_t>(), op.vertices};
}

template <class T, class Op>
Statistics<T> statistics_of(const Op& op) {
  return {op.totals.template data<T>(),
          op.squares.template data<T>(),
          op.gain.template data<T>(),
          op.x.columns(),
          counted_cells(op),
          op.epsilon};
}

template <class T>
struct StandardiseGradient {
  const T *x, *dy;
  T *dtotals, *dsquares, *dgain, *dshift;
};

/// The input gradient, for kernels whose threads stay with one feature of a step.
template <class T>
struct InputGradient {
  const T *x, *dy, *dtotals, *dsquares;  // dy may be null
  T* dx;
  bool accumulate;

  /// Rows `first`, `first` + `apart`, ... before `end` of feature f of the step whose statistics are `cell`'s.
  __device__ void put(const Statistics<T>& s, std::int64_t cell, std::int64_t f, std::int64_t first, std::int64_t end,
                      std::int64_t apart) const {
    const T mean = static_cast<T>(s.mean(cell)), scale = s.gain[f] * static_cast<T>(s.inverse_deviation(cell)),
            slope = T{2} * dsquares[cell], shift = dtotals[cell];
    for (std::int64_t r = first; r < end; r += apart) {
      const std::int64_t at = r * s.width + f;
      const T direct = dy == nullptr ? T{0} : dy[at] * scale;
      dx[at] = (accumulate ? dx[at] : T{0}) + direct + (x[at] - mean) * slope + shift;
    }
  }
};

/// sums [steps, 2, F] of each step's parts, dtotals and dsquares.
template <class T>
__global__ void gradient_steps(Statistics<T> s, StandardiseGradient<T> g, StepParts steps, const double* parts,
                               double* sums) {
  for (std::int64_t cell = grid_thread(); cell < steps.steps * s.width; cell += grid_threads()) {
    const std::int64_t t = cell / s.width, f = cell % s.width;
    double scaled = 0, plain = 0;
    for (std::int64_t part = t * steps.parts; part < (t + 1) * steps.parts; ++part) {
      scaled += parts[2 * part * s.width + f];
      plain += parts[(2 * part + 1) * s.width + f];
    }
    const double inverse = s.inverse_deviation(cell), gain = static_cast<double>(s.gain[f]), cells = s.cells.of(t);
    g.dtotals[cell] = static_cast<T>(-plain * gain * inverse / cells);
    g.dsquares[cell] = static_cast<T>(-0.5 * scaled * gain * inverse * inverse / cells);
    sums[2 * t * s.width + f] = scaled;
    sums[(2 * t + 1) * s.width + f] = plain;
  }
}

template <class T>
__global__ void gradient_features(StandardiseGradient<T> g, std::int64_t steps, std::int64_t width,
                                  const double* sums) {
  for (std::int64_t i = grid_thread(); i < 2 * width; i += grid_threads()) {
    T& target = i < width ? g.dgain[i] : g.dshift[i - width];
    double total = target;
    for (std::int64_t t = 0; t < steps; ++t) total += sums[2 * t * width + i];
    target = static_cast<T>(total);
  }
}

template <class T>
StepSumsValues<T> step_sums_of(const StepSums& op) {
  return {op.x.data<T>(), op.totals.data<T>(), op.sums.data<T>(), op.x.columns(), counted_cells(op)};
}

template <class T>
StandardiseGradient<T> standardise_gradient_of(const StandardiseBackward& op) {
  return {op.x.data<T>(),        op.dy.data<T>(),    op.dtotals.data<T>(),
          op.dsquares.data<T>(), op.dgain.data<T>(), op.dshift.data<T>()};
}

template <class T>
InputGradient<T> input_gradient_of(const StandardiseInputBackward& op) {
  return {op.x.data<T>(), op.dy.data<T>(), op.dtotals.data<T>(), op.dsquares.data<T>(), op.dx.data<T>(), op.accumulate};
}

template <class T>
void launch_add_sum_parts(const KernelContext& context, const StepSumsValues<T>& s, const StepParts& steps,
                          const double* parts) {
  constexpr int threads = 256;
  launch(context, blocks_for(steps.steps * s.width, threads), threads, 0, add_sum_parts<T>, s, steps, parts);
}

/// The last two launches of a normalisation's gradient; `sums` holds 2 T F doubles.
template <class T>
void launch_gradient_sums(const KernelContext& context, const Statistics<T>& s, const StandardiseGradient<T>& g,
                          const StepParts& steps, const double* parts, double* sums) {
  constexpr int threads = 256;
  launch(context, blocks_for(steps.steps * s.width, threads), threads, 0, gradient_steps<T>, s, g, steps, parts, sums);
  launch(context, blocks_for(2 * s.width, threads), threads, 0, gradient_features<T>, g, steps.steps, s.width, sums);
}

}  // namespace strobe::cuda
