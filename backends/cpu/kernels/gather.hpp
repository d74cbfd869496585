// Rows of a sparse product by gathering, for the fast kernels: out_r = sum over k of values[k] * in[indices[k]], a row
// at a time in K registers of P lanes. Two partial sums per register hide the latency of the additions; their order
// depends on the row alone. The matrix is prefetched a page ahead, because the hardware prefetcher stops at each 4 KiB
// page. Narrow rows are loaded as one full register that reads into the next row and stored under a mask.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe::cpu {

/// A compressed matrix by raw arrays.
template <class T>
struct CompressedView {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T* values;
  std::int64_t rows;
  std::int64_t nonzeros;
};

template <class T>
CompressedView<T> compressed(const SparseMatrix& a) {
  return {a.row_offsets.data<std::int64_t>(), a.column_indices.data<std::int32_t>(), a.values.data<T>(), a.rows,
          a.nonzeros};
}

template <class T>
CompressedView<T> compressed_transpose(const SparseMatrix& a) {
  return {a.transposed_offsets.data<std::int64_t>(), a.transposed_indices.data<std::int32_t>(),
          a.transposed_values.data<T>(), a.columns, a.nonzeros};
}

inline constexpr std::int64_t prefetch_distance = 1024;  // non-zeros: one 4 KiB page of indices
inline constexpr int most_registers = 8;                 // of one row in flight

/// Row r of the product in K registers.
template <class T, int P, int K>
[[gnu::always_inline]] inline void gather_row(const CompressedView<T>& a, const T* in, std::int64_t stride,
                                              std::int64_t r, Lanes<T, P> (&sum)[K]) {
  std::int64_t k = a.offsets[r];
  const std::int64_t end = a.offsets[r + 1];
  __builtin_prefetch(a.indices + k + prefetch_distance);
  __builtin_prefetch(a.values + k + prefetch_distance);
  Lanes<T, P> odd[K];
  for (int i = 0; i < K; ++i) sum[i] = odd[i] = Lanes<T, P>{};
  for (; k + 2 <= end; k += 2) {
    const T* even_row = in + static_cast<std::int64_t>(a.indices[k]) * stride;
    const T* odd_row = in + static_cast<std::int64_t>(a.indices[k + 1]) * stride;
    for (int i = 0; i < K; ++i) {
      sum[i] += a.values[k] * load<T, P>(even_row + i * P);
      odd[i] += a.values[k + 1] * load<T, P>(odd_row + i * P);
    }
  }
  if (k < end) {
    const T* row = in + static_cast<std::int64_t>(a.indices[k]) * stride;
    for (int i = 0; i < K; ++i) sum[i] += a.values[k] * load<T, P>(row + i * P);
  }
  for (int i = 0; i < K; ++i) sum[i] += odd[i];
}

/// Columns [0, width) of rows [begin, end), (K - 1) P < width <= K P; `in` and `out` point at the first column.
template <class T, int P, int K>
void gather_block(const CompressedView<T>& a, const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride,
                  std::int64_t width, bool accumulate, std::int64_t begin, std::int64_t end) {
  const int last = static_cast<int>(width - (K - 1) * P);
  for (std::int64_t r = begin; r < end; ++r, out += out_stride) {
    Lanes<T, P> sum[K];
    gather_row<T, P, K>(a, in, in_stride, r, sum);
    for (int i = 0; i < K; ++i) {
      const int lanes = i + 1 < K ? P : last;
      if (accumulate) sum[i] += load_first<T, P>(out + i * P, lanes);
      store_first<T, P>(out + i * P, sum[i], lanes);
    }
  }
}

/// Chooses K at run time, 1 <= K <= most_registers.
template <class T, int K = 1>
void gather_wide(const CompressedView<T>& a, const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride,
                 std::int64_t width, bool accumulate, std::int64_t begin, std::int64_t end) {
  constexpr int P = most_lanes<T>;
  if constexpr (K < most_registers) {
    if (width > K * P) {
      return gather_wide<T, K + 1>(a, in, in_stride, out, out_stride, width, accumulate, begin, end);
    }
  }
  gather_block<T, P, K>(a, in, in_stride, out, out_stride, width, accumulate, begin, end);
}

/// Rows [begin, end) of the product of any width; `out` [end - begin, width] is the row of `begin`.
template <class T>
void gather_rows(const CompressedView<T>& a, const T* in, T* out, std::int64_t width, bool accumulate,
                 std::int64_t begin, std::int64_t end) {
  if (width <= most_lanes<T>) {
    with_lanes<T>(width, [&](auto lanes) {
      gather_block<T, decltype(lanes)::value, 1>(a, in, width, out, width, width, accumulate, begin, end);
    });
    return;
  }
  constexpr std::int64_t block = most_lanes<T> * most_registers;
  for (std::int64_t column = 0; column < width; column += block) {
    gather_wide<T>(a, in + column, width, out + column, width, std::min(block, width - column), accumulate, begin, end);
  }
}

/// First rows of tasks with about equal work (non-zeros and rows), at most 64 of them, at least `least` of work each.
/// Depends on the matrix only. Entry i and i + 1 bound task i.
template <class T>
std::vector<std::int64_t> balanced_rows(const CompressedView<T>& a, std::int64_t least = 1 << 13) {
  const std::int64_t work = a.nonzeros + a.rows;
  const std::int64_t tasks = std::clamp<std::int64_t>(work / least, 1, 64);
  std::vector<std::int64_t> bounds{0};
  for (std::int64_t i = 1; i < tasks; ++i) {
    std::int64_t low = bounds.back(), high = a.rows;  // first row r with offsets[r] + r >= target
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (a.offsets[middle] + middle < work * i / tasks) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    bounds.push_back(low);
  }
  bounds.push_back(a.rows);
  return bounds;
}

}  // namespace strobe::cpu
