// Vector batch statistics and normalisation. A step's rows are walked as one array in whole registers, whatever the
// width: what belongs to a column (mean, scale, sums) lies in a pattern of registers that repeats after the least
// common multiple of width and register (3 registers for 6 columns in float). Row by row with partial registers, adding
// to dx took ten times as long (add_values.hpp). Steps are tasks; sums are taken in the element type over 256 registers
// of a place of the pattern and in double over those. Cost: one pass over the rows each, memory bound.
#include <cmath>
#include <numeric>
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/statistics/counted_cells.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_statistics.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t patterns_per_sum = 256;

/// Values of columns, repeated until they fill whole registers.
template <class T>
class Pattern {
 public:
  /// All zero.
  explicit Pattern(std::int64_t width)
      : width_(width), values_(static_cast<std::size_t>(std::lcm<std::int64_t>(width, most_lanes<T>)), T{0}) {}

  /// get(column) in double for every column.
  template <class Get>
  Pattern(std::int64_t width, const Get& get) : Pattern(width) {
    for (std::int64_t i = 0; i < size(); ++i) values_[i] = i < width ? static_cast<T>(get(i)) : (*this)[i - width];
  }

  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  T operator[](std::int64_t i) const { return values_[i]; }

  /// sums[column] += this, which is zero then.
  void move_to(double* sums) {
    for (std::int64_t first = 0; first < size(); first += width_) {
      for (std::int64_t c = 0; c < width_; ++c) sums[c] += static_cast<double>((*this)[first + c]);
    }
    std::fill(values_.begin(), values_.end(), T{0});
  }

 private:
  std::int64_t width_;
  std::vector<T> values_;
};

/// Calls body(place, place in the pattern, lanes) for the registers that cover [begin, end), which begins a pattern of
/// `period` values. Lanes are a constant but in the last register.
template <class T, class Body>
[[gnu::always_inline]] inline void for_registers(std::int64_t begin, std::int64_t end, std::int64_t period,
                                                 const Body& body) {
  constexpr int P = most_lanes<T>;
  std::int64_t at = begin, place = 0;
  for (; at + P <= end; at += P, place = place + P == period ? 0 : place + P) body(at, place, P);
  if (at < end) body(at, place, static_cast<int>(end - at));
}

/// The values of one step in a tensor [R, F].
struct StepPart {
  std::int64_t step, begin, end, width;
};

/// Calls body(step) for every step, steps as tasks.
template <class Body>
void for_steps(const KernelContext& context, const Tensor& step_rows, std::int64_t width, const Body& body) {
  const std::int64_t* rows = step_rows.data<std::int64_t>();
  run_tasks(context, step_rows.rows() - 1, [&](std::int64_t t) {
    body(StepPart{t, rows[t] * width, rows[t + 1] * width, width});
  });
}

/// Row `step` of [T, F], each value through `change` in double.
template <class T, class Change>
Pattern<T> step_values(const Tensor& tensor, const StepPart& part, const Change& change) {
  const T* from = tensor.data<T>() + part.step * part.width;
  return Pattern<T>(part.width, [&](std::int64_t c) { return change(static_cast<double>(from[c])); });
}

template <class T, class Op>
Pattern<T> step_means(const Op& op, const StepPart& part) {
  if (!op.totals.defined()) return Pattern<T>(part.width);
  const double n = counted_cells(op, part.step);
  return step_values<T>(op.totals, part, [n](double total) { return total / n; });
}

template <class T, bool squares>
void sum_step(const StepSums& op, const StepPart& part) {
  constexpr int P = most_lanes<T>;
  const Pattern<T> mean = step_means<T>(op, part);
  Pattern<T> recent(part.width);
  T* const sum = recent.data();
  std::vector<double> sums(part.width, 0.0);
  const T* x = op.x.data<T>();
  const std::int64_t at_once = patterns_per_sum * mean.size();
  for (std::int64_t first = part.begin; first < part.end; first += at_once) {
    for_registers<T>(first, std::min(part.end, first + at_once), mean.size(),
                     [&](std::int64_t at, std::int64_t place, int lanes) {
                       Lanes<T, P> term = load_row<T, P>(x + at, lanes);
                       if constexpr (squares) {
                         term -= load_first<T, P>(mean.data() + place, lanes);
                         term *= term;
                       }
                       store_first<T, P>(sum + place, load<T, P>(sum + place) + term, P);
                     });
    recent.move_to(sums.data());
  }
  T* to = op.sums.data<T>() + part.step * part.width;
  for (std::int64_t c = 0; c < part.width; ++c) to[c] = static_cast<T>(sums[c]);
}

/// The mean and 1 / sqrt(variance + epsilon) of a step's features, and the latter times their gains.
template <class T>
struct Moments {
  Pattern<T> mean, inverse, scale;

  template <class Op>
  Moments(const Op& op, const StepPart& part)
      : mean(step_means<T>(op, part)),
        inverse(step_values<T>(op.squares, part,
                               [n = counted_cells(op, part.step), epsilon = op.epsilon](double square) {
                                 return 1.0 / std::sqrt(square / n + epsilon);
                               })),
        scale(part.width, [&](std::int64_t c) { return inverse[c] * op.gain.template data<T>()[c]; }) {}
};

template <class T>
void standardise_step(const Standardise& op, const StepPart& part) {
  constexpr int P = most_lanes<T>;
  const Moments<T> moments(op, part);
  const Pattern<T>&mean = moments.mean, &scale = moments.scale;
  const Pattern<T> shift(part.width, [&](std::int64_t c) { return op.shift.data<T>()[c]; });
  const T* x = op.x.data<T>();
  T* y = op.y.data<T>();
  for_registers<T>(part.begin, part.end, mean.size(), [&](std::int64_t at, std::int64_t place, int lanes) {
    const Lanes<T, P> off = load_row<T, P>(x + at, lanes) - load<T, P>(mean.data() + place);
    store_first<T, P>(y + at, off * load<T, P>(scale.data() + place) + load<T, P>(shift.data() + place), lanes);
  });
}

/// The gradient through mean and variance of a step, from the sums of dy (x - mean) inverse and of dy.
template <class T>
void store_step_gradients(const StandardiseBackward& op, const StepPart& part, const double* scaled,
                          const double* plain) {
  const double n = counted_cells(op, part.step);
  for (std::int64_t c = 0; c < part.width; ++c) {
    const std::int64_t at = part.step * part.width + c;
    const double gain = op.gain.data<T>()[c];
    const double inverse = 1.0 / std::sqrt(static_cast<double>(op.squares.data<T>()[at]) / n + op.epsilon);
    op.dtotals.data<T>()[at] = static_cast<T>(-plain[c] * gain * inverse / n);
    op.dsquares.data<T>()[at] = static_cast<T>(-0.5 * scaled[c] * gain * inverse * inverse / n);
  }
}

/// `sums` [2][F] of the step receives the sums of dy (x - mean) inverse, and of dy.
template <class T>
void standardise_step_back(const StandardiseBackward& op, const StepPart& part, double* sums) {
  constexpr int P = most_lanes<T>;
  const Moments<T> moments(op, part);
  const Pattern<T>&mean = moments.mean, &inverse = moments.inverse;
  Pattern<T> recent_scaled(part.width), recent_plain(part.width);
  T *const scaled = recent_scaled.data(), *const plain = recent_plain.data();
  const T *x = op.x.data<T>(), *dy = op.dy.data<T>();
  const std::int64_t at_once = patterns_per_sum * mean.size();
  for (std::int64_t first = part.begin; first < part.end; first += at_once) {
    for_registers<T>(
        first, std::min(part.end, first + at_once), mean.size(), [&](std::int64_t at, std::int64_t place, int lanes) {
          const Lanes<T, P> d = load_row<T, P>(dy + at, lanes);
          const Lanes<T, P> off = load_row<T, P>(x + at, lanes) - load_first<T, P>(mean.data() + place, lanes);
          store_first<T, P>(scaled + place, load<T, P>(scaled + place) + d * off * load<T, P>(inverse.data() + place),
                            P);
          store_first<T, P>(plain + place, load<T, P>(plain + place) + d, P);
        });
    recent_scaled.move_to(sums);
    recent_plain.move_to(sums + part.width);
  }
  store_step_gradients<T>(op, part, sums, sums + part.width);
}

template <class T, bool with_dy, bool accumulate>
void step_input_back(const StandardiseInputBackward& op, const StepPart& part) {
  constexpr int P = most_lanes<T>;
  const Moments<T> moments(op, part);
  const Pattern<T>&mean = moments.mean, &scale = moments.scale;
  const Pattern<T> slope = step_values<T>(op.dsquares, part, [](double d) { return 2 * d; });
  const Pattern<T> shift = step_values<T>(op.dtotals, part, [](double d) { return d; });
  const T *x = op.x.data<T>(), *dy = with_dy ? op.dy.data<T>() : nullptr;
  T* dx = op.dx.data<T>();
  for_registers<T>(part.begin, part.end, mean.size(), [&](std::int64_t at, std::int64_t place, int lanes) {
    const Lanes<T, P> off = load_row<T, P>(x + at, lanes) - load<T, P>(mean.data() + place);
    Lanes<T, P> back = off * load<T, P>(slope.data() + place) + load<T, P>(shift.data() + place);
    if constexpr (with_dy) back += load_row<T, P>(dy + at, lanes) * load<T, P>(scale.data() + place);
    if constexpr (accumulate) back += load_first<T, P>(dx + at, lanes);
    store_first<T, P>(dx + at, back, lanes);
  });
}

void run_sums(const StepSums& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_steps(context, op.step_rows, op.x.columns(), [&](const StepPart& part) {
      op.totals.defined() ? sum_step<T, true>(op, part) : sum_step<T, false>(op, part);
    });
  });
}

void run_input_backward(const StandardiseInputBackward& op, KernelContext& context) {
  with_element(op.dx.type(), [&](auto zero) {
    using T = decltype(zero);
    for_steps(context, op.step_rows, op.dx.columns(), [&](const StepPart& part) {
      if (op.dy.defined()) {
        op.accumulate ? step_input_back<T, true, true>(op, part) : step_input_back<T, true, false>(op, part);
      } else {
        op.accumulate ? step_input_back<T, false, true>(op, part) : step_input_back<T, false, false>(op, part);
      }
    });
  });
}

void run_standardise(const Standardise& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_steps(context, op.step_rows, op.x.columns(), [&](const StepPart& part) { standardise_step<T>(op, part); });
  });
}

void run_standardise_backward(const StandardiseBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns(), steps = op.step_rows.rows() - 1;
  std::vector<double> sums(2 * width * steps, 0.0);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_steps(context, op.step_rows, width,
              [&](const StepPart& part) { standardise_step_back<T>(op, part, sums.data() + 2 * width * part.step); });
    for (std::int64_t j = 0; j < 2 * width; ++j) {
      T& target = (j < width ? op.dgain : op.dshift).data<T>()[j % width];
      double total = target;
      for (std::int64_t t = 0; t < steps; ++t) total += sums[2 * width * t + j];
      target = static_cast<T>(total);
    }
  });
}

const RegisterKernel<StepSums> sums_vector{"cpu", {"vector", 10, nullptr, run_sums}};
const RegisterKernel<Standardise> standardise_vector{"cpu", {"vector", 10, nullptr, run_standardise}};
const RegisterKernel<StandardiseBackward> standardise_backward_vector{
    "cpu", {"vector", 10, nullptr, run_standardise_backward}};
const RegisterKernel<StandardiseInputBackward> input_backward_vector{"cpu",
                                                                     {"vector", 10, nullptr, run_input_backward}};

}  // namespace
}  // namespace strobe
