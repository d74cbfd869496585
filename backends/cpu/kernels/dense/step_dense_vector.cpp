// Vector dense layer with one weight per step: each step's rows are a dense layer of their own on the blocks of
// dense_rows.hpp. Steps are cut into ranges of rows, so that few long steps keep all threads busy as many short ones
// do; the parts of dw are summed in double, range after range. Ranges depend on the rows of the steps only, so the
// result does not depend on the number of threads. Cost 2 R F G FLOPs per product; memory bound below widths of
// about 32.
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t least_rows = 512;
constexpr std::int64_t most_ranges = 64;

/// Rows [begin, end) of one step.
struct StepRange {
  std::int64_t step, begin, end;
};

std::vector<StepRange> step_ranges(const Tensor& step_rows) {
  const std::int64_t* rows = step_rows.data<std::int64_t>();
  const std::int64_t steps = step_rows.rows() - 1;
  const std::int64_t grain = std::max(least_rows, divide_up(rows[steps] - rows[0], most_ranges));
  std::vector<StepRange> ranges;
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t begin = rows[t]; begin < rows[t + 1]; begin += grain) {
      ranges.push_back({t, begin, std::min(rows[t + 1], begin + grain)});
    }
  }
  return ranges;
}

/// The weight of one step out of the stack of all.
Tensor weight_of(const Tensor& stack, std::int64_t step, std::int64_t inner) {
  return stack.slice_rows(step * inner, inner);
}

void run_forward(const StepDense& op, KernelContext& context) {
  const std::vector<StepRange> ranges = step_ranges(op.step_rows);
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
      const StepRange& range = ranges[i];
      const Dense step{op.x, weight_of(op.w, range.step, op.x.columns()), {}, op.y, op.activation};
      dense_rows<T>(step, range.begin, range.end);
    });
  });
}

/// One range of the backward pass; its part of dw goes to `sums` [F * G].
template <class T>
void backward_of(const StepDenseBackward& op, const StepRange& rows, double* sums) {
  DenseBackward step;
  step.x = op.x;
  step.w = weight_of(op.w, rows.step, op.x.columns());
  step.y = op.y;
  step.dy = op.dy;
  step.dx = op.dx;
  step.dw = step.w;  // says that dw is wanted; backward_range adds to `sums` only
  step.activation = op.activation;
  step.accumulate_dx = op.accumulate_dx;
  Scratch<T> turned = transposed<T>(step.w);
  BackwardRange<T> range{step, turned.data(), sums, std::vector<T>(block_rows * op.w.columns() + most_lanes<T>, T{0})};
  backward_range(range, rows.begin, rows.end);
}

template <class T>
void add_parts(const StepDenseBackward& op, const std::vector<StepRange>& ranges, const std::vector<double>& sums) {
  const std::int64_t weights = op.x.columns() * op.w.columns();
  T* dw = op.dw.data<T>();
  if (!op.accumulate_dw) std::fill(dw, dw + op.dw.elements(), T{0});
  for (std::size_t first = 0, last = 0; first < ranges.size(); first = last) {
    while (last < ranges.size() && ranges[last].step == ranges[first].step) ++last;
    for (std::int64_t i = 0; i < weights; ++i) {
      T& target = dw[ranges[first].step * weights + i];
      double total = target;
      for (std::size_t p = first; p < last; ++p)
        total += sums[p * static_cast<std::size_t>(weights) + static_cast<std::size_t>(i)];
      target = static_cast<T>(total);
    }
  }
}

void run_backward(const StepDenseBackward& op, KernelContext& context) {
  const std::vector<StepRange> ranges = step_ranges(op.step_rows);
  const std::int64_t weights = op.x.columns() * op.w.columns();
  std::vector<double> sums(ranges.size() * static_cast<std::size_t>(weights), 0.0);
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    run_tasks(context, static_cast<std::int64_t>(ranges.size()),
              [&](std::int64_t i) { backward_of<T>(op, ranges[i], sums.data() + i * weights); });
    add_parts<T>(op, ranges, sums);
  });
}

const RegisterKernel<StepDense> forward{"cpu", {"vector", 10, nullptr, run_forward}};
const RegisterKernel<StepDenseBackward> backward{"cpu", {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
