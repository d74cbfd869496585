// Plain sparse products. Forward: y_r = sum over the non-zeros (r, c) of a_rc x_c, rows independent, non-zeros in
// stored order. Backward: x_c = sum of a_rc y_r, gathered when the matrix carries its transpose, otherwise scattered
// step by step: the snapshots of one matrix touch disjoint columns (their own rows and their own halo block), so steps
// are independent tasks and each column receives its terms in row order either way.
// Cost 2 nnz F FLOPs; reads the matrix once and one row of x per non-zero.
#include <cstring>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;
using cpu::run_tasks;
using cpu::with_element;

constexpr std::int64_t rows_per_task = 512;

template <class T>
struct Compressed {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T* values;
};

template <class T>
void gather_rows(const Compressed<T>& a, const T* in, T* out, std::int64_t width, bool accumulate, std::int64_t begin,
                 std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    T* target = out + r * width;
    if (!accumulate) std::fill(target, target + width, T{0});
    for (std::int64_t k = a.offsets[r]; k < a.offsets[r + 1]; ++k) {
      const T* source = in + static_cast<std::int64_t>(a.indices[k]) * width;
      for (std::int64_t f = 0; f < width; ++f) target[f] += a.values[k] * source[f];
    }
  }
}

template <class T>
void scatter_rows(const Compressed<T>& a, const T* in, T* out, std::int64_t width, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* source = in + r * width;
    for (std::int64_t k = a.offsets[r]; k < a.offsets[r + 1]; ++k) {
      T* target = out + static_cast<std::int64_t>(a.indices[k]) * width;
      for (std::int64_t f = 0; f < width; ++f) target[f] += a.values[k] * source[f];
    }
  }
}

template <class T>
void spmm(const Spmm& op, const KernelContext& context) {
  const Compressed<T> a{op.a.row_offsets.data<std::int64_t>(), op.a.column_indices.data<std::int32_t>(),
                        op.a.values.data<T>()};
  const T* x = op.x.data<T>();
  T* y = op.y.data<T>();
  for_ranges(context, op.a.rows, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    gather_rows(a, x, y, op.y.columns(), op.accumulate, begin, end);
  });
}

template <class T>
void spmm_by_transpose(const SpmmTransposed& op, const KernelContext& context) {
  const Compressed<T> a{op.a.transposed_offsets.data<std::int64_t>(), op.a.transposed_indices.data<std::int32_t>(),
                        op.a.transposed_values.data<T>()};
  const T* y = op.y.data<T>();
  T* x = op.x.data<T>();
  for_ranges(context, op.a.columns, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    gather_rows(a, y, x, op.x.columns(), op.accumulate, begin, end);
  });
}

template <class T>
void spmm_by_scatter(const SpmmTransposed& op, const KernelContext& context) {
  const Compressed<T> a{op.a.row_offsets.data<std::int64_t>(), op.a.column_indices.data<std::int32_t>(),
                        op.a.values.data<T>()};
  const T* y = op.y.data<T>();
  T* x = op.x.data<T>();
  const std::int64_t width = op.x.columns();
  if (!op.accumulate) {
    for_ranges(context, op.x.elements(), 1 << 14,
               [&](std::int64_t begin, std::int64_t end) { std::fill(x + begin, x + end, T{0}); });
  }
  // Only a matrix whose own columns are its own rows promises disjoint columns per step.
  if (op.a.steps > 1 && op.a.step_rows.defined() && op.a.halo_begin == op.a.rows) {
    const std::int64_t* steps = op.a.step_rows.data<std::int64_t>();
    run_tasks(context, op.a.steps, [&](std::int64_t s) { scatter_rows(a, y, x, width, steps[s], steps[s + 1]); });
  } else {
    scatter_rows(a, y, x, width, 0, op.a.rows);
  }
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { spmm<decltype(zero)>(op, context); });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    if (op.a.transposed_offsets.defined()) {
      spmm_by_transpose<decltype(zero)>(op, context);
    } else {
      spmm_by_scatter<decltype(zero)>(op, context);
    }
  });
}

const RegisterKernel<Spmm> spmm_plain{"cpu", {"plain", 0, nullptr, run_spmm}};
const RegisterKernel<SpmmTransposed> spmm_transposed_plain{"cpu", {"plain", 0, nullptr, run_spmm_transposed}};

}  // namespace
}  // namespace strobe
