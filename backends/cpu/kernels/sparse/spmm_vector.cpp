// Vector sparse products (see gather.hpp). Tasks are steps, or rows of about equal numbers of non-zeros
// (step_ranges.hpp), so skewed graphs balance and the slab of x that one snapshot reads stays in the second-level
// cache. The backward product gathers when the matrix carries its transpose; otherwise it scatters step by step, each
// target row held in registers for one addition. Cost: 2 nnz F FLOPs; 8 bytes of matrix and one row of x out of cache
// per non-zero.
#include "backends/cpu/kernels/sparse/step_ranges.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// out (+)= A in for `rows` of A or of its transpose.
template <class T>
void gather_all(const CompressedView<T>& rows, const SparseMatrix& a, const Tensor& in, const Tensor& out,
                bool accumulate, const KernelContext& context) {
  const std::int64_t width = in.columns();
  for_step_ranges(rows, a, in, 1, context, [&](const StepRange& range) {
    bring_in(in.data<T>(), width, range);
    gather_rows(rows, in.data<T>(), out.data<T>() + range.begin * width, width, accumulate, range.begin, range.end);
  });
}

/// Adds a_rc y_r to row c of `out` for rows r of [begin, end); columns [0, width), width <= P.
template <class T, int P>
void scatter_block(const CompressedView<T>& a, const T* in, T* out, std::int64_t stride, int width, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    const Lanes<T, P> source = load_row<T, P>(in + r * stride, width);
    __builtin_prefetch(a.indices + a.offsets[r] + prefetch_distance);
    __builtin_prefetch(a.values + a.offsets[r] + prefetch_distance);
    for (std::int64_t k = a.offsets[r]; k < a.offsets[r + 1]; ++k) {
      T* target = out + static_cast<std::int64_t>(a.indices[k]) * stride;
      store_first<T, P>(target, load_first<T, P>(target, width) + a.values[k] * source, width);
    }
  }
}

template <class T>
void scatter_rows(const CompressedView<T>& a, const T* in, T* out, std::int64_t width, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t column = 0; column < width; column += most_lanes<T>) {
    const std::int64_t part = std::min<std::int64_t>(most_lanes<T>, width - column);
    with_lanes<T>(part, [&](auto lanes) {
      scatter_block<T, decltype(lanes)::value>(a, in + column, out + column, width, static_cast<int>(part), begin, end);
    });
  }
}

template <class T>
void scatter_all(const SpmmTransposed& op, const KernelContext& context) {
  const CompressedView<T> a = compressed<T>(op.a);
  const T* y = op.y.data<T>();
  T* x = op.x.data<T>();
  const std::int64_t width = op.x.columns();
  // Only a matrix whose own columns are its own rows promises disjoint columns per step.
  const bool by_step = op.a.steps > 1 && op.a.step_rows.defined() && op.a.halo_begin == op.a.rows;
  if (!by_step) {
    if (!op.accumulate) std::fill(x, x + op.x.elements(), T{0});
    scatter_rows(a, y, x, width, 0, a.rows);
    return;
  }
  const std::int64_t* steps = op.a.step_rows.data<std::int64_t>();
  const std::int64_t* halo = op.a.step_halo.defined() ? op.a.step_halo.data<std::int64_t>() : nullptr;
  run_tasks(context, op.a.steps, [&](std::int64_t s) {
    if (!op.accumulate) {
      std::fill(x + steps[s] * width, x + steps[s + 1] * width, T{0});
      if (halo != nullptr) {
        T* first = x + op.a.halo_begin * width;
        std::fill(first + halo[s] * width, first + halo[s + 1] * width, T{0});
      }
    }
    scatter_rows(a, y, x, width, steps[s], steps[s + 1]);
  });
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    gather_all(compressed<T>(op.a), op.a, op.x, op.y, op.accumulate, context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    if (op.a.transposed_offsets.defined()) {
      gather_all(compressed_transpose<T>(op.a), op.a, op.y, op.x, op.accumulate, context);
    } else {
      scatter_all<T>(op, context);
    }
  });
}

const RegisterKernel<Spmm> spmm_vector{"cpu", {"vector", 10, nullptr, run_spmm}};
const RegisterKernel<SpmmTransposed> spmm_transposed_vector{"cpu", {"vector", 10, nullptr, run_spmm_transposed}};

}  // namespace
}  // namespace strobe
