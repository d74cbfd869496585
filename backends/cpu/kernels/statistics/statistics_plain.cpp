// Batch statistics, normalisation and dropout. Steps are tasks: all sums of a step are taken in order of its rows, in
// double, so they depend on nothing but the rows. Dropout draws one Philox block for 4 features of a cell.
// Cost: one pass over the rows each.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/statistics/counted_cells.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_statistics.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

/// Calls body(step, first row, last row) for every step, as tasks.
template <class Body>
void for_steps(const KernelContext& context, const Tensor& step_rows, const Body& body) {
  const std::int64_t* rows = step_rows.data<std::int64_t>();
  cpu::run_tasks(context, step_rows.rows() - 1, [&](std::int64_t t) { body(t, rows[t], rows[t + 1]); });
}

/// Row t of a [T, F] tensor over `by`, as doubles.
template <class T>
std::vector<double> row_of(const Tensor& tensor, std::int64_t t, double by) {
  const T* from = tensor.data<T>() + t * tensor.columns();
  std::vector<double> row(from, from + tensor.columns());
  for (double& value : row) value /= by;
  return row;
}

template <class T>
void sum_step(const StepSums& op, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.x.columns();
  const bool squares = op.totals.defined();
  const std::vector<double> mean =
      squares ? row_of<T>(op.totals, t, cpu::counted_cells(op, t)) : std::vector<double>(width, 0.0);
  std::vector<double> sums(width, 0.0);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = op.x.data<T>() + r * width;
    for (std::int64_t f = 0; f < width; ++f) {
      const double value = static_cast<double>(x[f]) - mean[f];
      sums[f] += squares ? value * value : value;
    }
  }
  for (std::int64_t f = 0; f < width; ++f) op.sums.data<T>()[t * width + f] = static_cast<T>(sums[f]);
}

/// The mean and 1 / sqrt(variance + epsilon) of every feature of step t.
struct Moments {
  std::vector<double> mean, inverse;
};

template <class T, class Op>
Moments moments_of(const Op& op, std::int64_t t) {
  const double cells = cpu::counted_cells(op, t);
  Moments moments{row_of<T>(op.totals, t, cells), row_of<T>(op.squares, t, cells)};
  for (double& value : moments.inverse) value = 1.0 / std::sqrt(value + op.epsilon);
  return moments;
}

template <class T>
void standardise_step(const Standardise& op, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.x.columns();
  const auto [mean, inverse] = moments_of<T>(op, t);
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t f = 0; f < width; ++f) {
      const std::size_t at = f;
      const T centred = op.x.data<T>()[r * width + f] - static_cast<T>(mean[at]);
      op.y.data<T>()[r * width + f] =
          op.gain.data<T>()[f] * centred * static_cast<T>(inverse[at]) + op.shift.data<T>()[f];
    }
  }
}

/// Stores dtotals and dsquares of one step; `sums` [2 F] receives its part of dgain and dshift.
template <class T>
void standardise_step_back(const StandardiseBackward& op, std::int64_t t, std::int64_t begin, std::int64_t end,
                           double* sums) {
  const std::int64_t width = op.x.columns();
  const double cells = cpu::counted_cells(op, t);
  const auto [mean, inverse] = moments_of<T>(op, t);
  double *scaled = sums, *plain = sums + width;  // sums of dy (x - mean) inverse, and of dy
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t f = 0; f < width; ++f) {
      const double inv = inverse[f], dy = static_cast<double>(op.dy.data<T>()[r * width + f]);
      scaled[f] += dy * (static_cast<double>(op.x.data<T>()[r * width + f]) - mean[f]) * inv;
      plain[f] += dy;
    }
  }
  for (std::int64_t f = 0; f < width; ++f) {
    const double inv = inverse[f], gain = static_cast<double>(op.gain.data<T>()[f]);
    op.dtotals.data<T>()[t * width + f] = static_cast<T>(-plain[f] * gain * inv / cells);
    op.dsquares.data<T>()[t * width + f] = static_cast<T>(-0.5 * scaled[f] * gain * inv * inv / cells);
  }
}

template <class T>
void step_input_back(const StandardiseInputBackward& op, std::int64_t t, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.x.columns();
  const auto [mean, inverse] = moments_of<T>(op, t);
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t f = 0; f < width; ++f) {
      const std::size_t at = f;
      const std::int64_t cell = t * width + f;
      const T centred = op.x.data<T>()[r * width + f] - static_cast<T>(mean[at]);
      const T scale = op.gain.data<T>()[f] * static_cast<T>(inverse[at]);
      T& dx = op.dx.data<T>()[r * width + f];
      dx = (op.accumulate ? dx : T{0}) + (op.dy.defined() ? op.dy.data<T>()[r * width + f] * scale : T{0}) +
           T{2} * centred * op.dsquares.data<T>()[cell] + op.dtotals.data<T>()[cell];
    }
  }
}

template <class T>
void drop_rows(const Dropout& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.x.columns();
  const T scale = static_cast<T>(1.0 / (1.0 - op.rate));
  const auto limit = static_cast<std::uint64_t>(op.rate * 0x1.0p32);  // a word below it is dropped
  const std::array<std::uint32_t, 2> seed{static_cast<std::uint32_t>(op.seed),
                                          static_cast<std::uint32_t>(op.seed >> 32)};
  for (std::int64_t r = begin; r < end; ++r) {
    const std::uint64_t id = op.ids.data<std::int64_t>()[r];
    for (std::int64_t first = 0; first < width; first += 4) {
      const auto words = philox({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32),
                                 random_purpose::dropout + (static_cast<std::uint32_t>(first) << 8), op.key},
                                seed);
      for (std::int64_t f = first; f < std::min(width, first + 4); ++f) {
        const T kept = words[f - first] < limit ? T{0} : scale * op.x.data<T>()[r * width + f];
        T& y = op.y.data<T>()[r * width + f];
        y = op.accumulate ? y + kept : kept;
      }
    }
  }
}

void run_sums(const StepSums& op, KernelContext& context) {
  cpu::with_element(op.x.type(), [&](auto zero) {
    for_steps(context, op.step_rows, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      sum_step<decltype(zero)>(op, t, begin, end);
    });
  });
}

void run_input_backward(const StandardiseInputBackward& op, KernelContext& context) {
  cpu::with_element(op.dx.type(), [&](auto zero) {
    for_steps(context, op.step_rows, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      step_input_back<decltype(zero)>(op, t, begin, end);
    });
  });
}

void run_standardise(const Standardise& op, KernelContext& context) {
  cpu::with_element(op.x.type(), [&](auto zero) {
    for_steps(context, op.step_rows, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      standardise_step<decltype(zero)>(op, t, begin, end);
    });
  });
}

void run_standardise_backward(const StandardiseBackward& op, KernelContext& context) {
  const std::int64_t width = op.x.columns(), steps = op.step_rows.rows() - 1;
  std::vector<double> sums(2 * width * steps, 0.0);
  cpu::with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    for_steps(context, op.step_rows, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
      standardise_step_back<T>(op, t, begin, end, sums.data() + 2 * width * t);
    });
    for (std::int64_t f = 0; f < width; ++f) {
      auto gain = static_cast<double>(op.dgain.data<T>()[f]), shift = static_cast<double>(op.dshift.data<T>()[f]);
      for (std::int64_t t = 0; t < steps; ++t) {
        gain += sums[2 * width * t + f];
        shift += sums[2 * width * t + width + f];
      }
      op.dgain.data<T>()[f] = static_cast<T>(gain);
      op.dshift.data<T>()[f] = static_cast<T>(shift);
    }
  });
}

void run_dropout(const Dropout& op, KernelContext& context) {
  cpu::with_element(op.x.type(), [&](auto zero) {
    cpu::for_ranges(context, op.x.rows(), 4096,
                    [&](std::int64_t begin, std::int64_t end) { drop_rows<decltype(zero)>(op, begin, end); });
  });
}

const RegisterKernel<StepSums> sums_plain{"cpu", {"plain", 0, nullptr, run_sums}};
const RegisterKernel<Standardise> standardise_plain{"cpu", {"plain", 0, nullptr, run_standardise}};
const RegisterKernel<StandardiseBackward> standardise_backward_plain{"cpu",
                                                                     {"plain", 0, nullptr, run_standardise_backward}};
const RegisterKernel<StandardiseInputBackward> input_backward_plain{"cpu", {"plain", 0, nullptr, run_input_backward}};
const RegisterKernel<Dropout> dropout_plain{"cpu", {"plain", 0, nullptr, run_dropout}};

}  // namespace
}  // namespace strobe
