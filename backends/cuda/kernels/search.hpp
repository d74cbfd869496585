// Binary search in sorted device memory. Cost: log2(end - begin) dependent reads.
#pragma once

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// First place in [begin, end) of `sorted` whose value is not below `value`; `end` when there is none.
template <class T>
__device__ std::int64_t first_not_below(const T* sorted, std::int64_t begin, std::int64_t end, std::int64_t value) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (static_cast<std::int64_t>(sorted[middle]) < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// The row in [first, last) that holds entry `entry`, by offsets of rows: offsets[row] <= entry < offsets[row + 1].
__device__ inline std::int64_t row_of_entry(const std::int64_t* offsets, std::int64_t first, std::int64_t last,
                                            std::int64_t entry) {
  return first_not_below(offsets, first + 1, last, entry + 1) - 1;
}

/// Rows [first, last).
struct RowSpan {
  std::int64_t first, last;
};

/// The rows that hold a block's entries [begin, end), not empty, into shared memory. `offsets` count from offsets[0].
/// Every thread of the block calls it, and waits before it is called again.
__device__ inline void find_row_span(const std::int64_t* offsets, std::int64_t rows, std::int64_t begin,
                                     std::int64_t end, RowSpan& span) {
  if (threadIdx.x == 0) span.first = row_of_entry(offsets, 0, rows, offsets[0] + begin);
  if (threadIdx.x == warp_lanes) span.last = row_of_entry(offsets, 0, rows, offsets[0] + end - 1) + 1;
  __syncthreads();
}

}  // namespace strobe::cuda
