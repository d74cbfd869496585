// Weighted sums of a short window of rows in one pass: the inner loop of the M-transform's kernels.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

inline constexpr int most_summed_anew = 8;

/// A window's inputs and their weights, newest last.
template <class T>
struct Window {
  const T* in[most_summed_anew];
  T weight[most_summed_anew];
};

/// y (+)= out_weight * sum over the `W` inputs of weight * in, in one pass; `ahead` is prefetched for the next step.
template <class T, int W, bool accumulate>
void sum_window(const Window<T>& window, T out_weight, T* y, std::int64_t count, const T* ahead) {
  constexpr int P = most_lanes<T>;
  const Window<T> w = window;
  for_lanes<T>(0, count, [&](std::int64_t c, int lanes) {
    __builtin_prefetch(ahead + c);
    Lanes<T, P> sum = w.weight[0] * load_row<T, P>(w.in[0] + c, lanes);
    for (int s = 1; s < W; ++s) sum += w.weight[s] * load_row<T, P>(w.in[s] + c, lanes);
    sum *= out_weight;
    if constexpr (accumulate) sum += load_first<T, P>(y + c, lanes);
    store_first<T, P>(y + c, sum, lanes);
  });
}

/// Chooses sum_window's W = length at run time.
template <class T, bool accumulate, int W = 1>
void sum_window_of(int length, const Window<T>& window, T out_weight, T* y, std::int64_t count, const T* ahead) {
  if constexpr (W < most_summed_anew) {
    if (length > W) return sum_window_of<T, accumulate, W + 1>(length, window, out_weight, y, count, ahead);
  }
  sum_window<T, W, accumulate>(window, out_weight, y, count, ahead);
}

}  // namespace strobe::cpu
