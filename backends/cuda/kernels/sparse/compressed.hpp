// A compressed matrix as kernels see it: raw device pointers, taken from a SparseMatrix or from its transpose, and the
// plain product with one thread per value of the result.
#pragma once

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// Entries [offsets[r], offsets[r + 1]) belong to row r of `rows`.
template <class T>
struct Compressed {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T* values;
  std::int64_t rows;
};

template <class T>
Compressed<T> compressed(const SparseMatrix& a) {
  return {a.row_offsets.data<std::int64_t>(), a.column_indices.data<std::int32_t>(), a.values.data<T>(), a.rows};
}

/// The stored transpose; it must be there.
template <class T>
Compressed<T> compressed_transpose(const SparseMatrix& a) {
  return {a.transposed_offsets.data<std::int64_t>(), a.transposed_indices.data<std::int32_t>(),
          a.transposed_values.data<T>(), a.columns};
}

/// out[rows, width] (+)= a in: one thread a value, entries in stored order.
template <class T>
__global__ void gather_values(Compressed<T> a, const T* in, T* out, std::int64_t width, bool accumulate) {
  for (std::int64_t i = grid_thread(); i < a.rows * width; i += grid_threads()) {
    const std::int64_t row = i / width, feature = i % width;
    T sum = accumulate ? out[i] : T{0};
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) {
      sum += a.values[k] * in[static_cast<std::int64_t>(a.indices[k]) * width + feature];
    }
    out[i] = sum;
  }
}

/// out += a^T in without a stored transpose: one thread per (block of rows, feature) walks the rows in order. Blocks
/// are [block_rows[s], block_rows[s + 1]), or one of all rows without a list; their columns must not meet.
template <class T>
__global__ void scatter_values(Compressed<T> a, const std::int64_t* block_rows, std::int64_t blocks, const T* in,
                               T* out, std::int64_t width) {
  for (std::int64_t i = grid_thread(); i < blocks * width; i += grid_threads()) {
    const std::int64_t block = i / width, feature = i % width;
    const std::int64_t begin = block_rows == nullptr ? 0 : block_rows[block];
    const std::int64_t end = block_rows == nullptr ? a.rows : block_rows[block + 1];
    for (std::int64_t row = begin; row < end; ++row) {
      const T value = in[row * width + feature];
      for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) {
        out[static_cast<std::int64_t>(a.indices[k]) * width + feature] += a.values[k] * value;
      }
    }
  }
}

template <class T>
__global__ void clear_values(T* out, std::int64_t n) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) out[i] = T{0};
}

/// x[columns, width] (+)= a^T y by the stored transpose, or else by scattering.
template <class T>
void plain_transposed_product(const SparseMatrix& a, const T* y, T* x, std::int64_t width, bool accumulate,
                              const KernelContext& context) {
  constexpr int threads = 256;
  const std::int64_t values = a.columns * width;
  if (a.transposed_offsets.defined()) {
    launch(context, blocks_for(values, threads), threads, 0, gather_values<T>, compressed_transpose<T>(a), y, x, width,
           accumulate);
    return;
  }
  if (!accumulate) launch(context, blocks_for(values, threads), threads, 0, clear_values<T>, x, values);
  // Only a matrix whose own columns are its own rows promises disjoint columns per step.
  const bool apart = a.steps > 1 && a.step_rows.defined() && a.halo_begin == a.rows;
  const std::int64_t* steps = apart ? a.step_rows.data<std::int64_t>() : nullptr;
  const std::int64_t blocks = apart ? a.steps : 1;
  constexpr int few = 32;  // there are few such threads: they should not share a multiprocessor
  launch(context, blocks_for(blocks * width, few), few, 0, scatter_values<T>, compressed<T>(a), steps, blocks, y, x,
         width);
}

}  // namespace strobe::cuda
