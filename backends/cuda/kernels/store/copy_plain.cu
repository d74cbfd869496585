// Plain row copies. Without `accumulate` any element type is copied, one thread an element. Rows that are added where
// rows of `to` may occur more than once are added by one thread per column, which walks the list (or the rows of all
// runs) in order: slow and always the same. Cost: the moved bytes.
#include "backends/cuda/kernels/store/copy_words.hpp"

namespace strobe::cuda {
namespace copy_plain_kernels {

constexpr int threads = 256;

template <class T>
__global__ void copy_rows(RowCopy<T> copy) {
  for (std::int64_t i = grid_thread(); i < copy.count * copy.width; i += grid_threads()) {
    *copy.to_at(i / copy.width, i % copy.width) = *copy.from_at(i / copy.width, i % copy.width);
  }
}

/// Target rows occur once.
template <class T>
__global__ void add_distinct_rows(RowCopy<T> copy) {
  for (std::int64_t i = grid_thread(); i < copy.count * copy.width; i += grid_threads()) {
    *copy.to_at(i / copy.width, i % copy.width) += *copy.from_at(i / copy.width, i % copy.width);
  }
}

template <class T>
__global__ void add_rows_in_order(RowCopy<T> copy) {
  for (std::int64_t column = grid_thread(); column < copy.width; column += grid_threads()) {
    for (std::int64_t i = 0; i < copy.count; ++i) *copy.to_at(i, column) += *copy.from_at(i, column);
  }
}

/// One block a run.
template <class T>
__global__ void copy_runs(RunCopy<T> copy) {
  for (std::int64_t run = blockIdx.x; run < copy.count; run += gridDim.x) {
    const T* const from = copy.from + copy.runs[3 * run] * copy.width;
    T* const to = copy.to + copy.runs[3 * run + 1] * copy.width;
    const std::int64_t elements = copy.runs[3 * run + 2] * copy.width;
    for (std::int64_t i = threadIdx.x; i < elements; i += blockDim.x) to[i] = from[i];
  }
}

template <class T>
__global__ void add_runs_in_order(RunCopy<T> copy) {
  for (std::int64_t column = grid_thread(); column < copy.width; column += grid_threads()) {
    for (std::int64_t run = 0; run < copy.count; ++run) {
      const T* from = copy.from + copy.runs[3 * run] * copy.width + column;
      T* to = copy.to + copy.runs[3 * run + 1] * copy.width + column;
      for (std::int64_t row = 0; row < copy.runs[3 * run + 2]; ++row) to[row * copy.width] += from[row * copy.width];
    }
  }
}

void run_copy_rows(const CopyRows& op, KernelContext& context) {
  const std::int64_t elements = op.count * op.width;
  if (!op.accumulate) {
    with_word(op.from.type(), [&](auto zero) {
      launch(context, blocks_for(elements, threads), threads, 0, copy_rows<decltype(zero)>,
             row_copy<decltype(zero)>(op));
    });
    return;
  }
  with_element(op.to.type(), [&](auto zero) {
    using T = decltype(zero);
    if (op.to_rows.defined()) {
      launch(context, blocks_for(op.width, 32), 32, 0, add_rows_in_order<T>, row_copy<T>(op));
    } else {
      launch(context, blocks_for(elements, threads), threads, 0, add_distinct_rows<T>, row_copy<T>(op));
    }
  });
}

void run_copy_runs(const CopyRuns& op, KernelContext& context) {
  if (!op.accumulate) {
    with_word(op.from.type(), [&](auto zero) {
      launch(context, blocks_for(op.runs.rows(), 1), threads, 0, copy_runs<decltype(zero)>,
             run_copy<decltype(zero)>(op));
    });
    return;
  }
  with_element(op.to.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.to.columns(), 32), 32, 0, add_runs_in_order<T>, run_copy<T>(op));
  });
}

const RegisterKernel<CopyRows> rows_plain{"cuda", {"plain", 0, nullptr, run_copy_rows}};
const RegisterKernel<CopyRuns> runs_plain{"cuda", {"plain", 0, nullptr, run_copy_runs}};

}  // namespace copy_plain_kernels
}  // namespace strobe::cuda
