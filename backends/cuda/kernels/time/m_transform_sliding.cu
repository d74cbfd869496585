// M-transform in one pass over time per value (sliding_window.hpp) for windows up to 16 steps, whose values stay in
// registers; longer ones as a running sum in double with compensated additions (Neumaier, ZAMM 1974), which adds what
// comes into the window and subtracts what leaves it: its error does not grow with time, and where a value is not
// finite the whole window is summed again. The backward pass runs from the last step to the first with 1 / min(w, t +
// 1) applied to what comes in instead of to what goes out. Compulsory bytes: x and y once; long windows read x twice.
#include "backends/cuda/kernels/time/sliding_window.hpp"

namespace strobe::cuda {
namespace m_transform_sliding_kernels {

constexpr int batch = 8;  // steps of a long window at once

template <class T>
struct MeanRule {
  const T* __restrict__ x;
  std::int64_t slab, window;
  T inverse;  // 1 / window
  bool backward;

  __device__ T factor(std::int64_t step) const {
    return step + 1 >= window ? inverse : T{1} / static_cast<T>(step + 1);
  }
  __device__ T value(std::int64_t step, std::int64_t at) const { return x[step * slab + at]; }
  __device__ T taken(std::int64_t step, T value) const { return backward ? value * factor(step) : value; }
  __device__ static constexpr T weight(int) { return T{1}; }
  __device__ T finish(std::int64_t step, std::int64_t, T sum) const { return backward ? sum : sum * factor(step); }
};

/// A sum and what rounding took from it.
struct Compensated {
  double sum = 0, lost = 0;

  __device__ void add(double value) {
    const double next = sum + value;
    lost += fabs(sum) >= fabs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  __device__ bool finite() const { return fabs(sum + lost) <= 1.7e308; }
};

/// The sum over [begin, end) in running order.
template <class T>
__device__ Compensated sum_anew(const Timeline& time, const MeanRule<T>& rule, std::int64_t at, std::int64_t begin,
                                std::int64_t end) {
  Compensated running;
#pragma unroll 4
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t step = time.step(i);
    running.sum += static_cast<double>(rule.taken(step, rule.value(step, at)));
  }
  return running;
}

/// The values that enter the window at `batch` steps from i on, and those that leave it there. All are loaded before
/// the first is used.
template <class T>
struct Passing {
  T in[batch], out[batch];

  __device__ Passing(const Timeline& time, const MeanRule<T>& rule, std::int64_t at, std::int64_t i, std::int64_t start,
                     std::int64_t end) {
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      const std::int64_t gone = i + j - time.window;
      in[j] = i + j < end ? rule.value(time.step(i + j), at) : T{0};
      out[j] = i + j < end && gone >= start ? rule.value(time.step(gone), at) : T{0};
    }
  }
};

template <class T>
__global__ void run_along(Timeline time, MeanRule<T> rule, T* __restrict__ y) {
  const std::int64_t segments = (time.steps + time.segment - 1) / time.segment;
  for (std::int64_t item = grid_thread(); item < segments * time.slab; item += grid_threads()) {
    const std::int64_t at = item % time.slab, first = item / time.slab * time.segment;
    const std::int64_t end = min(time.steps, first + time.segment);
    const std::int64_t start = max(std::int64_t{0}, first - (time.window - 1));
    Compensated running = sum_anew(time, rule, at, start, first);
    for (std::int64_t base = first; base < end; base += batch) {
      const Passing<T> passing(time, rule, at, base, start, end);
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        const std::int64_t i = base + j, gone = i - time.window, step = time.step(i);
        if (i >= end) break;
        running.add(static_cast<double>(rule.taken(step, passing.in[j])));
        if (gone >= start) running.add(-static_cast<double>(rule.taken(time.step(gone), passing.out[j])));
        if (!running.finite()) running = sum_anew(time, rule, at, max(start, gone + 1), i + 1);
        const T result = rule.finish(step, at, static_cast<T>(running.sum + running.lost));
        T& to = y[step * time.slab + at];
        to = time.accumulate ? to + result : result;
      }
    }
  }
}

void run_m_transform(const MTransform& op, KernelContext& context) {
  constexpr int threads = 128;
  if (op.steps == 0) return;
  const Timeline time = timeline(op.steps, op.x.elements() / op.steps, op.window, op.backward, op.accumulate);
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const MeanRule<T> rule{op.x.data<T>(), time.slab, time.window, T{1} / static_cast<T>(time.window), op.backward};
    if (time.window <= longest_window) return launch_slide<T, longest_window>(context, time, rule, op.y.data<T>());
    launch(context, blocks_for(time.segments() * time.slab, threads), threads, 0, run_along<T>, time, rule,
           op.y.data<T>());
  });
}

const RegisterKernel<MTransform> sliding{"cuda", {"sliding", 10, nullptr, run_m_transform}};

}  // namespace m_transform_sliding_kernels
}  // namespace strobe::cuda
