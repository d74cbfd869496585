// Sums over a short window of time, one thread per (value of a step, segment of time): the thread walks its steps in
// order and keeps the window's values in registers, so each is read (or computed) once, and adds up the
// whole window at every step, so nothing drifts. A segment begins with the w - 1 values in front of it; segments are
// there only where a step has too few values to keep a GPU busy. Bytes: values in once (1 / 4 more where there are
// segments), out once.
#pragma once

#include <algorithm>

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// Up to which every window has code of its own; beyond, every fourth.
inline constexpr int longest_window = 16;

/// `slab` values a step; with `backward` time runs from the last step to the first.
struct Timeline {
  std::int64_t steps, slab, window, segment;
  bool backward, accumulate;

  __device__ std::int64_t step(std::int64_t i) const { return backward ? steps - 1 - i : i; }
  std::int64_t segments() const { return (steps + segment - 1) / segment; }
};

/// The window of a timeline is never longer than its steps.
inline Timeline timeline(std::int64_t steps, std::int64_t slab, std::int64_t window, bool backward, bool accumulate) {
  constexpr std::int64_t wanted_threads = 1 << 18, windows_per_segment = 4;
  window = std::min(window, steps);
  const std::int64_t wanted = slab == 0 ? 1 : std::max<std::int64_t>(1, wanted_threads / slab);
  const std::int64_t shortest = windows_per_segment * window;
  return {steps,    slab,      window, std::min(steps, std::max(shortest, (steps + wanted - 1) / wanted)),
          backward, accumulate};
}

/// Rule: value(step, i) reads value i of a step, taken(step, value) is what the sum takes of it, weight(distance) its
/// weight, finish(step, i, sum) what is written. All values of a window are asked for before the first is used.
template <class T, int W, class Rule>
__global__ void slide(Timeline time, Rule rule, T* __restrict__ y) {
  const std::int64_t segments = (time.steps + time.segment - 1) / time.segment;
  for (std::int64_t item = grid_thread(); item < segments * time.slab; item += grid_threads()) {
    const std::int64_t at = item % time.slab, first = item / time.slab * time.segment;
    const std::int64_t end = min(time.steps, first + time.segment), start = max(std::int64_t{0}, first - (W - 1));
    T ring[W] = {};
    for (std::int64_t base = start; base < end; base += W) {
      T in[W];
#pragma unroll
      for (int j = 0; j < W; ++j) in[j] = base + j < end ? rule.value(time.step(base + j), at) : T{0};
#pragma unroll
      for (int j = 0; j < W; ++j) {
        ring[j] = rule.taken(time.step(base + j), in[j]);
        if (base + j < first || base + j >= end) continue;
        T sum{0};
#pragma unroll
        for (int d = W - 1; d >= 0; --d) {
          if (W > longest_window && d > W - 4 && d >= time.window) continue;
          sum += Rule::weight(d) * ring[(j - d + W) % W];
        }
        const std::int64_t step = time.step(base + j);
        const T result = rule.finish(step, at, sum);
        T& to = y[step * time.slab + at];
        to = time.accumulate ? to + result : result;
      }
    }
  }
}

/// Launches slide with the least W that holds the timeline's window, which is at most `most`.
template <class T, int most, class Rule, int W = 1>
void launch_slide(const KernelContext& context, const Timeline& time, const Rule& rule, T* y) {
  if constexpr (W < most) {
    if (time.window > W)
      return launch_slide < T, most, Rule, W < longest_window ? W + 1 : W + 4 > (context, time, rule, y);
  }
  constexpr int threads = 128;
  launch(context, blocks_for(time.segments() * time.slab, threads), threads, 0, slide<T, W, Rule>, time, rule, y);
}

}  // namespace strobe::cuda
