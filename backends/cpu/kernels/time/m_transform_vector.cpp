// M-transform over columns of the time-major matrix: a task holds one range of cell values over all steps. Windows up
// to 8 steps are summed whole, from the cache that the range stays in; longer ones by blocks (van Herk, Pattern
// Recognition Letters 1992; Gil and Werman, PAMI 1993): time is cut into blocks of w steps, every window is a suffix
// of one block plus a prefix of the next, so 3 additions per cell for any w. A running sum that subtracts what leaves
// the window would drift; both forms here only add, with the error bound of a plain sum.
// The backward pass is the same window run from the last step to the first, with 1 / min(w, t + 1) applied to what
// comes in instead of to what goes out. Cost: each value read and written once from memory.
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/time/window_sum.hpp"

namespace strobe {
namespace {

using cpu::most_summed_anew, cpu::sum_window_of, cpu::Window;

/// One range of `count` values at x, y + t * slab for each step t. In running order i, step(i) counts up (forward) or
/// down (backward).
template <class T>
struct TimeRange {
  const T* x;
  T* y;
  std::int64_t slab, count, steps, window;
  bool backward, accumulate;

  std::int64_t step(std::int64_t i) const { return backward ? steps - 1 - i : i; }
  T weight(std::int64_t i) const { return T{1} / static_cast<T>(std::min(window, step(i) + 1)); }
  T weight_in(std::int64_t i) const { return backward ? weight(i) : T{1}; }
  T weight_out(std::int64_t i) const { return backward ? T{1} : weight(i); }
  const T* in(std::int64_t i) const { return x + step(i) * slab; }
  T* out(std::int64_t i) const { return y + step(i) * slab; }
};

/// y_i (+)= weight * sum.
template <class T>
void put(const TimeRange<T>& range, std::int64_t i, const T* sum) {
  T* y = range.out(i);
  const T weight = range.weight_out(i);
  if (range.accumulate) {
    for (std::int64_t c = 0; c < range.count; ++c) y[c] += weight * sum[c];
  } else {
    for (std::int64_t c = 0; c < range.count; ++c) y[c] = weight * sum[c];
  }
}

template <class T>
void transform_short(const TimeRange<T>& range) {
  for (std::int64_t i = 0; i < range.steps; ++i) {
    const std::int64_t first = std::max<std::int64_t>(0, i - range.window + 1);
    Window<T> window{};
    for (std::int64_t s = first; s <= i; ++s) {
      window.in[s - first] = range.in(s);
      window.weight[s - first] = range.weight_in(s);
    }
    const int length = static_cast<int>(i - first + 1);
    const T* ahead = range.in(std::min(i + 1, range.steps - 1));
    if (range.accumulate) {
      sum_window_of<T, true>(length, window, range.weight_out(i), range.out(i), range.count, ahead);
    } else {
      sum_window_of<T, false>(length, window, range.weight_out(i), range.out(i), range.count, ahead);
    }
  }
}

/// Turns the w inputs of the block that begins at `first` into their suffix sums.
template <class T>
void suffix_sums(const TimeRange<T>& range, std::int64_t first, T* suffix) {
  const std::int64_t n = range.count;
  for (std::int64_t j = range.window - 1; j >= 0; --j) {
    const T* x = range.in(first + j);
    const T weight = range.weight_in(first + j);
    T* to = suffix + j * n;
    for (std::int64_t c = 0; c < n; ++c) to[c] = weight * x[c] + (j + 1 < range.window ? to[n + c] : T{0});
  }
}

template <class T>
void transform_long(const TimeRange<T>& range) {
  const std::int64_t n = range.count, window = range.window;
  std::vector<T> suffix(window * n, T{0});
  std::vector<T> prefix(n), sum(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < range.steps; ++i) {
    const std::int64_t place = i % window;  // in its block; the window reaches back to place + 1 of the block before
    if (place == 0) {
      if (i > 0) suffix_sums(range, i - window, suffix.data());
      std::fill(prefix.begin(), prefix.end(), T{0});
    }
    const T* x = range.in(i);
    const T weight = range.weight_in(i);
    const bool reaches_back = i >= window && place + 1 < window;
    T* p = prefix.data();
    for (std::int64_t c = 0; c < n; ++c) p[c] += weight * x[c];
    if (reaches_back) {
      const T* tail = suffix.data() + (place + 1) * n;
      for (std::int64_t c = 0; c < n; ++c) sum[c] = p[c] + tail[c];
    }
    put(range, i, reaches_back ? sum.data() : p);
  }
}

template <class T>
void transform(const MTransform& op, const KernelContext& context) {
  if (op.x.elements() == 0) return;
  const std::int64_t slab = op.x.elements() / op.steps;
  const std::int64_t window = std::min(op.window, op.steps);  // the same transform: t + 1 is never larger
  // The window's rows of one range share the first-level cache (short windows) or the second-level cache.
  const std::int64_t cache_bytes = window <= most_summed_anew ? 1 << 15 : 1 << 19;
  const std::int64_t cached = cache_bytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t grain = std::clamp<std::int64_t>(cached / (window + 2) / 64 * 64, 256, 8192);
  cpu::for_ranges(context, slab, grain, [&](std::int64_t begin, std::int64_t end) {
    const TimeRange<T> range{
        op.x.data<T>() + begin, op.y.data<T>() + begin, slab, end - begin, op.steps, window, op.backward,
        op.accumulate};
    window <= most_summed_anew ? transform_short(range) : transform_long(range);
  });
}

void run_m_transform(const MTransform& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) { transform<decltype(zero)>(op, context); });
}

const RegisterKernel<MTransform> vector{"cpu", {"vector", 10, nullptr, run_m_transform}};

}  // namespace
}  // namespace strobe
