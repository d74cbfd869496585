// Tiles of consecutive rows in shared memory: loaded and stored with neighbouring threads on neighbouring values,
// whatever the width, and read with one thread a row. Rows of a tile lie an odd number of values apart (or a multiple
// of four with four to spare, for vector loads), so that threads on different rows meet different banks.
#pragma once

#include <type_traits>

#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

/// Row and column of element threadIdx.x, threadIdx.x + blockDim.x, ... of a tile, without a division per element.
class TileWalk {
 public:
  __device__ explicit TileWalk(int width) : width_(width) {
    // Half an element from the next row is more than rounding moves a quotient of up to 1024 elements.
    const float rows_per_element = 1.0f / static_cast<float>(width);
    row = static_cast<int>((static_cast<float>(threadIdx.x) + 0.5f) * rows_per_element);
    column = static_cast<int>(threadIdx.x) - row * width;
    row_step_ = static_cast<int>((static_cast<float>(blockDim.x) + 0.5f) * rows_per_element);
    column_step_ = static_cast<int>(blockDim.x) - row_step_ * width;
  }

  __device__ void next() {
    row += row_step_;
    column += column_step_;
    if (column >= width_) {
      column -= width_;
      ++row;
    }
  }

  int row, column;

 private:
  int width_, row_step_, column_step_;
};

/// tile[r * stride + c] = load(r * apart + c) for `rows` rows of `width` columns. A thread has a batch of loads on
/// their way before it stores the first value.
template <class T, class Load>
__device__ void fill_rows(T* __restrict__ tile, int stride, int apart, int rows, int width, const Load& load) {
  constexpr int batch = 8;
  const int count = rows * width, step = static_cast<int>(blockDim.x);
  TileWalk at(width);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += batch * step) {
    T in[batch];
    int to[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j, at.next()) {
      to[j] = at.row * stride + at.column;
      in[j] = i + j * step < count ? load(at.row * apart + at.column) : T{0};
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      if (i + j * step < count) tile[to[j]] = in[j];
    }
  }
}

/// tile[r * stride + c] = x[r * apart + c] for `rows` rows of `width` columns.
template <class T>
__device__ void load_rows(T* __restrict__ tile, int stride, const T* __restrict__ x, int apart, int rows, int width) {
  fill_rows(tile, stride, apart, rows, width, [&](int at) { return x[at]; });
}

/// The same for dz: dy where y > 0, or dy where y is null.
template <class T>
__device__ void load_live_rows(T* __restrict__ tile, int stride, const T* __restrict__ y, const T* __restrict__ dy,
                               int apart, int rows, int width) {
  if (y == nullptr) return load_rows(tile, stride, dy, apart, rows, width);
  fill_rows(tile, stride, apart, rows, width, [&](int at) {
    const T live = y[at], in = dy[at];  // both on their way before the test
    return live > T{0} ? in : T{0};
  });
}

/// y[r * apart + c] (+)= tile[r * stride + c].
template <class T>
__device__ void store_rows(const T* __restrict__ tile, int stride, T* __restrict__ y, int apart, int rows, int width,
                           bool accumulate) {
  TileWalk at(width);
  for (int i = static_cast<int>(threadIdx.x); i < rows * width; i += static_cast<int>(blockDim.x), at.next()) {
    const T value = tile[at.row * stride + at.column];
    T& to = y[at.row * apart + at.column];
    to = accumulate ? to + value : value;
  }
}

/// Four values from a 16-byte aligned address.
__device__ inline void load_four(const float* from, float (&to)[4]) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
__device__ inline void load_four(const double* from, double (&to)[4]) {
  const double2 low = reinterpret_cast<const double2*>(from)[0], high = reinterpret_cast<const double2*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}

/// sum[0, P) += scale * row[0, P), a row of an aligned matrix.
template <int P, class T>
__device__ void add_row(T scale, const T* row, T (&sum)[P]) {
#pragma unroll
  for (int g = 0; g < P; g += 4) {
    T four[4];
    load_four(row + g, four);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[g + k] += scale * four[k];
  }
}

/// w [F, G] with its columns padded to P by zeros.
template <int P, class T>
__device__ void load_padded(T* padded, const T* w, int inner, int width) {
  for (int i = static_cast<int>(threadIdx.x); i < inner * P; i += static_cast<int>(blockDim.x)) {
    padded[i] = i % P < width ? w[i / P * width + i % P] : T{0};
  }
}

inline constexpr std::int64_t narrow_width = 32;

/// Rows of a tile, and threads of a block: as many as leave 48 KiB of shared memory enough at the widest.
template <class T>
inline constexpr int narrow_rows = sizeof(T) == 8 ? 64 : 128;

inline int odd(std::int64_t width) { return static_cast<int>(width | 1); }

/// Calls body(integral_constant) with the least of 4, 8, 16, 32 that holds `width` columns.
template <class Body>
void with_padding(std::int64_t width, const Body& body) {
  if (width <= 4) {
    body(std::integral_constant<int, 4>{});
  } else if (width <= 8) {
    body(std::integral_constant<int, 8>{});
  } else if (width <= 16) {
    body(std::integral_constant<int, 16>{});
  } else {
    body(std::integral_constant<int, 32>{});
  }
}

}  // namespace strobe::cuda
