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

inline constexpr std::int64_t prefetch_distance = 1024;    // non-zeros: one 4 KiB page of indices
inline constexpr int most_registers = register_count / 4;  // of one row in flight

/// Calls add(k, sum) for the entries k in [begin, end) that are even from `begin` on, and add(k, odd) for the others.
template <class Sum, class Add>
[[gnu::always_inline]] inline void add_in_turn(std::int64_t begin, std::int64_t end, Sum& sum, Sum& odd,
                                               const Add& add) {
  std::int64_t k = begin;
  for (; k + 2 <= end; k += 2) {
    add(k, sum);
    add(k + 1, odd);
  }
  if (k < end) add(k, sum);
}

/// Row r of the product in K registers.
template <class T, int P, int K>
[[gnu::always_inline]] inline void gather_row(const CompressedView<T>& a, const T* in, std::int64_t stride,
                                              std::int64_t r, Lanes<T, P> (&sum)[K]) {
  const auto add = [&](std::int64_t k, Lanes<T, P>(&to)[K]) __attribute__((always_inline)) {
    const T* const row = in + static_cast<std::int64_t>(a.indices[k]) * stride;
    for (int i = 0; i < K; ++i) to[i] += a.values[k] * load<T, P>(row + i * P);
  };
  const std::int64_t first = a.offsets[r];
  __builtin_prefetch(a.indices + first + prefetch_distance);
  __builtin_prefetch(a.values + first + prefetch_distance);
  Lanes<T, P> odd[K];
  for (int i = 0; i < K; ++i) sum[i] = odd[i] = Lanes<T, P>{};
  add_in_turn(first, a.offsets[r + 1], sum, odd, add);
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

#ifdef STROBE_MASKED_LANES
/// Rows [begin, end) of a product of two columns, eight non-zeros at a time: a row of `in` is one 64-bit element of a
/// hardware gather, so no branch depends on a row's length beyond its eighths.
inline void gather_pairs(const CompressedView<float>& a, const float* in, float* out, bool accumulate,
                         std::int64_t begin, std::int64_t end) {
  const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  for (std::int64_t r = begin; r < end; ++r, out += 2) {
    const std::int64_t last = a.offsets[r + 1];
    __builtin_prefetch(a.indices + a.offsets[r] + prefetch_distance);
    __builtin_prefetch(a.values + a.offsets[r] + prefetch_distance);
    Lanes<float, 16> sum{};
    for (std::int64_t k = a.offsets[r]; k < last; k += 8) {
      const auto some = static_cast<__mmask8>(last - k >= 8 ? 0xFF : (1 << (last - k)) - 1);
      const __m256i columns = _mm256_maskz_loadu_epi32(some, a.indices + k);
      const __m512d rows = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), some, columns, in, 8);
      const __m512 values = _mm512_castps256_ps512(_mm256_maskz_loadu_ps(some, a.values + k));
      sum += reinterpret_cast<Lanes<float, 16>>(_mm512_maskz_permutexvar_ps(0xFFFF, twice, values)) *
             reinterpret_cast<Lanes<float, 16>>(rows);
    }
    const auto half = __builtin_shufflevector(sum, sum, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15);
    const auto quarter =
        __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
    out[0] = (accumulate ? out[0] : 0.0f) + quarter[0] + quarter[2];
    out[1] = (accumulate ? out[1] : 0.0f) + quarter[1] + quarter[3];
  }
}
#endif

/// Rows [begin, end) of the product of any width; `out` [end - begin, width] is the row of `begin`.
template <class T>
void gather_rows(const CompressedView<T>& a, const T* in, T* out, std::int64_t width, bool accumulate,
                 std::int64_t begin, std::int64_t end) {
#ifdef STROBE_MASKED_LANES
  if constexpr (sizeof(T) == 4) {
    if (width == 2) return gather_pairs(a, in, out, accumulate, begin, end);
  }
#endif
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

/// Appends the ends of ranges of rows that cover [begin, end) with about equal work (non-zeros and rows), at most
/// `most` of them, at least `least` of work each. Depends on the matrix only.
template <class T>
void append_balanced(const CompressedView<T>& a, std::int64_t begin, std::int64_t end, std::int64_t least,
                     std::int64_t most, std::vector<std::int64_t>& ends) {
  const std::int64_t first = a.offsets[begin] + begin, work = a.offsets[end] + end - first;
  const std::int64_t ranges = std::clamp<std::int64_t>(work / least, 1, most);
  std::int64_t last = begin;
  for (std::int64_t i = 1; i < ranges; ++i) {
    std::int64_t low = last, high = end;  // first row r with offsets[r] + r >= target
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (a.offsets[middle] + middle < first + work * i / ranges) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    ends.push_back(last = low);
  }
  ends.push_back(end);
}

/// First rows of tasks with about equal work, at most 64 of them. Entry i and i + 1 bound task i.
template <class T>
std::vector<std::int64_t> balanced_rows(const CompressedView<T>& a, std::int64_t least = 1 << 13) {
  std::vector<std::int64_t> bounds{0};
  append_balanced(a, 0, a.rows, least, 64, bounds);
  return bounds;
}

}  // namespace strobe::cpu
