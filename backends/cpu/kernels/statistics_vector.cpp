// Vector batch statistics and normalisation: a row's features are the lanes of one register (wider rows go in blocks of
// registers), so a pass costs a few instructions a row. Steps are tasks; sums are taken in the element type over 256
// rows and in double over those, in order of rows. Cost: one pass over the rows each, memory bound.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations_statistics.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_sum = 256;

/// One block of columns of one step: `lanes` of them from `column` on, rows [begin, end).
struct Block {
  std::int64_t step, begin, end, width, column;
  int lanes;
};

/// Calls body(std::integral_constant<int, P>, block) for every block of columns of every step, steps as tasks.
template <class T, class Body>
void for_blocks(const KernelContext& context, const Tensor& step_rows, std::int64_t width, const Body& body) {
  const std::int64_t* rows = step_rows.data<std::int64_t>();
  run_tasks(context, step_rows.rows() - 1, [&](std::int64_t t) {
    for (std::int64_t column = 0; column < width; column += most_lanes<T>) {
      const std::int64_t part = std::min<std::int64_t>(most_lanes<T>, width - column);
      with_lanes<T>(part, [&](auto lanes) {
        body(lanes, Block{t, rows[t], rows[t + 1], width, column, static_cast<int>(part)});
      });
    }
  });
}

/// The block's columns of row `step` of [T, F], each through `change` in double.
template <class T, int P, class Change>
Lanes<T, P> step_values(const Tensor& tensor, const Block& b, const Change& change) {
  T values[P] = {};
  const T* from = tensor.data<T>() + b.step * b.width + b.column;
  for (int i = 0; i < b.lanes; ++i) values[i] = static_cast<T>(change(static_cast<double>(from[i])));
  return load<T, P>(values);
}

template <class T, int P>
void add_lanes(double* sums, Lanes<T, P> values) {
  T parts[P];
  std::memcpy(parts, &values, sizeof(values));
  for (int i = 0; i < P; ++i) sums[i] += static_cast<double>(parts[i]);
}

template <class T, int P>
void sum_block(const StepSums& op, const Block& b) {
  const double n = static_cast<double>(op.vertices);
  const bool squares = op.totals.defined();
  const Lanes<T, P> mean =
      squares ? step_values<T, P>(op.totals, b, [n](double total) { return total / n; }) : Lanes<T, P>{};
  double sums[P] = {};
  for (std::int64_t first = b.begin; first < b.end; first += rows_per_sum) {
    Lanes<T, P> sum{};
    const T* x = op.x.data<T>() + first * b.width + b.column;
    for (std::int64_t r = first; r < std::min(b.end, first + rows_per_sum); ++r, x += b.width) {
      const Lanes<T, P> off = load_first<T, P>(x, b.lanes) - mean;
      sum += squares ? off * off : off;
    }
    add_lanes<T, P>(sums, sum);
  }
  for (int i = 0; i < b.lanes; ++i) op.sums.data<T>()[b.step * b.width + b.column + i] = static_cast<T>(sums[i]);
}

template <class T, int P>
void sum_block_back(const StepSumsBackward& op, const Block& b) {
  const double n = static_cast<double>(op.vertices);
  const bool squares = op.totals.defined();
  const Lanes<T, P> mean =
      squares ? step_values<T, P>(op.totals, b, [n](double total) { return total / n; }) : Lanes<T, P>{};
  const Lanes<T, P> slope = step_values<T, P>(op.dsums, b, [squares](double d) { return squares ? 2 * d : d; });
  for (std::int64_t r = b.begin; r < b.end; ++r) {
    const std::int64_t at = r * b.width + b.column;
    Lanes<T, P> dx = slope;
    if (squares) dx *= load_first<T, P>(op.x.data<T>() + at, b.lanes) - mean;
    if (op.accumulate) dx += load_first<T, P>(op.dx.data<T>() + at, b.lanes);
    store_first<T, P>(op.dx.data<T>() + at, dx, b.lanes);
  }
}

template <class T, int P>
void standardise_block(const Standardise& op, const Block& b) {
  const double n = static_cast<double>(op.vertices), epsilon = op.epsilon;
  const Lanes<T, P> mean = step_values<T, P>(op.totals, b, [n](double total) { return total / n; });
  const Lanes<T, P> inverse =
      step_values<T, P>(op.squares, b, [=](double square) { return 1.0 / std::sqrt(square / n + epsilon); });
  const Lanes<T, P> scale = inverse * load_first<T, P>(op.gain.data<T>() + b.column, b.lanes);
  const Lanes<T, P> shift = load_first<T, P>(op.shift.data<T>() + b.column, b.lanes);
  for (std::int64_t r = b.begin; r < b.end; ++r) {
    const std::int64_t at = r * b.width + b.column;
    store_first<T, P>(op.y.data<T>() + at, (load_first<T, P>(op.x.data<T>() + at, b.lanes) - mean) * scale + shift,
                      b.lanes);
  }
}

/// `sums` [2][F] of the step receives the sums of dy (x - mean) inverse, and of dy.
template <class T, int P>
void standardise_block_back(const StandardiseBackward& op, const Block& b, double* step_sums) {
  const double n = static_cast<double>(op.vertices), epsilon = op.epsilon;
  const auto inverse_of = [=](double square) { return 1.0 / std::sqrt(square / n + epsilon); };
  const Lanes<T, P> mean = step_values<T, P>(op.totals, b, [n](double total) { return total / n; });
  const Lanes<T, P> inverse = step_values<T, P>(op.squares, b, inverse_of);
  const Lanes<T, P> scale = inverse * load_first<T, P>(op.gain.data<T>() + b.column, b.lanes);
  double scaled[P] = {}, plain[P] = {};
  for (std::int64_t first = b.begin; first < b.end; first += rows_per_sum) {
    Lanes<T, P> scaled_sum{}, plain_sum{};
    for (std::int64_t r = first; r < std::min(b.end, first + rows_per_sum); ++r) {
      const std::int64_t at = r * b.width + b.column;
      const Lanes<T, P> dy = load_first<T, P>(op.dy.data<T>() + at, b.lanes);
      scaled_sum += dy * (load_first<T, P>(op.x.data<T>() + at, b.lanes) - mean) * inverse;
      plain_sum += dy;
      Lanes<T, P> dx = dy * scale;
      if (op.accumulate) dx += load_first<T, P>(op.dx.data<T>() + at, b.lanes);
      store_first<T, P>(op.dx.data<T>() + at, dx, b.lanes);
    }
    add_lanes<T, P>(scaled, scaled_sum);
    add_lanes<T, P>(plain, plain_sum);
  }
  for (int i = 0; i < b.lanes; ++i) {
    const std::int64_t at = b.step * b.width + b.column + i;
    const double gain = static_cast<double>(op.gain.data<T>()[b.column + i]);
    const double inv = inverse_of(static_cast<double>(op.squares.data<T>()[at]));
    op.dtotals.data<T>()[at] = static_cast<T>(-plain[i] * gain * inv / n);
    op.dsquares.data<T>()[at] = static_cast<T>(-0.5 * scaled[i] * gain * inv * inv / n);
    step_sums[b.column + i] = scaled[i];
    step_sums[b.width + b.column + i] = plain[i];
  }
}

void run_sums(const StepSums& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_blocks<T>(context, op.step_rows, op.x.columns(),
                  [&](auto lanes, const Block& block) { sum_block<T, decltype(lanes)::value>(op, block); });
  });
}

void run_sums_backward(const StepSumsBackward& op, KernelContext& context) {
  with_element(op.dx.type(), [&](auto zero) {
    using T = decltype(zero);
    for_blocks<T>(context, op.step_rows, op.dx.columns(),
                  [&](auto lanes, const Block& block) { sum_block_back<T, decltype(lanes)::value>(op, block); });
  });
}

void run_standardise(const Standardise& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_blocks<T>(context, op.step_rows, op.x.columns(),
                  [&](auto lanes, const Block& block) { standardise_block<T, decltype(lanes)::value>(op, block); });
  });
}

void run_standardise_backward(const StandardiseBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns(), steps = op.step_rows.rows() - 1;
  std::vector<double> sums(static_cast<std::size_t>(2 * width * steps), 0.0);
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_blocks<T>(context, op.step_rows, width, [&](auto lanes, const Block& block) {
      standardise_block_back<T, decltype(lanes)::value>(op, block, sums.data() + 2 * width * block.step);
    });
    for (std::int64_t j = 0; j < 2 * width; ++j) {
      T& target = (j < width ? op.dgain : op.dshift).data<T>()[j % width];
      double total = static_cast<double>(target);
      for (std::int64_t t = 0; t < steps; ++t) total += sums[static_cast<std::size_t>(2 * width * t + j)];
      target = static_cast<T>(total);
    }
  });
}

const RegisterKernel<StepSums> sums_vector{Numerics::cpu, {"vector", 10, nullptr, run_sums}};
const RegisterKernel<StepSumsBackward> sums_backward_vector{Numerics::cpu, {"vector", 10, nullptr, run_sums_backward}};
const RegisterKernel<Standardise> standardise_vector{Numerics::cpu, {"vector", 10, nullptr, run_standardise}};
const RegisterKernel<StandardiseBackward> standardise_backward_vector{
    Numerics::cpu, {"vector", 10, nullptr, run_standardise_backward}};

}  // namespace
}  // namespace strobe
