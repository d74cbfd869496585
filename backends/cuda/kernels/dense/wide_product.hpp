// Products of wide matrices: a block multiplies slices of A and B that pass through shared memory, 8 x 8 values of C in
// each thread's registers, 64 x 64 in each group of 64 threads. The groups of a block lie below each other (slices of 8
// inner indices), or they share one tile and divide the slices' inner indices (`split`), 8 for each, and their sums
// meet in shared memory at the end. While a slice is multiplied the next one is on its way in registers, into the other
// half of the memory: one barrier a slice. fp64 takes slices half as deep. Operands are read four neighbouring columns
// at a time. Those whose inner dimension lies along rows are turned round on the way; their columns in shared memory
// are exchanged by exclusive or with the inner index, so that neither storing nor loading meets a bank twice. Cost: per
// inner index and thread 4 vector loads for 64 multiply-adds, which keeps loads of shared memory and arithmetic in
// balance; 512 multiply-adds a thread between barriers; at most 8 KiB of shared memory a group.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"

namespace strobe::cuda {

inline constexpr int wide_tile = 64, wide_piece = 8, wide_group_threads = 64;

/// Four values to a 16-byte aligned address.
__device__ inline void store_wide_four(float* to, const float (&from)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ inline void store_wide_four(double* to, const double (&from)[4]) {
  reinterpret_cast<double2*>(to)[0] = make_double2(from[0], from[1]);
  reinterpret_cast<double2*>(to)[1] = make_double2(from[2], from[3]);
}

/// The part of the operands that passes through shared memory at once, in a block of `groups` groups.
template <class T, int groups_, bool split_>
struct WideSlice {
  using Value = T;
  static constexpr int groups = groups_, threads = groups * wide_group_threads;
  static constexpr bool split = split_;
  static constexpr int group_inner = sizeof(T) == 8 ? 4 : 8;
  static constexpr int inner = split ? group_inner * groups : group_inner;
  static constexpr int rows = split ? wide_tile : wide_tile * groups;  // of C a block
  static constexpr int values = inner * (rows + wide_tile);

  /// The number that the outer index is exchanged with (exclusive or) at inner index k of an operand that is turned
  /// round.
  __device__ static int exchange(int k) { return k / 4 * (warp_lanes / (inner / 4)); }
};

/// Room for two slices, and for one tile of C.
template <class T, int groups>
struct alignas(16) WideMemory {
  static constexpr int split = 2 * WideSlice<T, groups, true>::values, rows = 2 * WideSlice<T, groups, false>::values,
                       tile = wide_tile * wide_tile;
  T values[split > rows ? (split > tile ? split : tile) : (rows > tile ? rows : tile)];
};

/// One column of a matrix: row r at values[r * apart]; it counts where `live` is null or positive.
template <class T>
struct WideColumn {
  const T *values, *live;
  std::int64_t apart;
};

/// A row-major matrix.
template <class T>
struct WideMatrix {
  using Value = T;
  static constexpr bool masked = false;
  const T* values;
  std::int64_t apart;
  __device__ WideColumn<T> column(int c) const { return {values + c, nullptr, apart}; }
};

/// The gradient before the activation.
template <class T>
struct WideGradient {
  using Value = T;
  static constexpr bool masked = true;
  const T *values, *live;
  std::int64_t apart;
  __device__ WideColumn<T> column(int c) const { return {values + c, live == nullptr ? live : live + c, apart}; }
};

/// One operand on its way from global to shared memory: rows of `source` are outer indices when it is read `along` its
/// rows, inner ones else. A slice holds `outers` of them.
template <class Slice, bool along, int outers, class Source>
struct WideOperand {
  using T = typename Source::Value;
  static constexpr int inner = Slice::inner, quads = inner * outers / 4,
                       turns = (quads + Slice::threads - 1) / Slice::threads;

  Source source;
  std::int64_t first, outer_end;  // outer index of the slice's first row, and of the one after the last
  bool vector;                    // columns can be read four at a time
  T values[turns][4], live[Source::masked ? turns : 1][4];

  __device__ static int inner_of(int quad) { return along ? quad % (inner / 4) * 4 : quad / (outers / 4); }
  __device__ static int outer_of(int quad) { return along ? quad / (inner / 4) : quad % (outers / 4) * 4; }

  __device__ void read(std::int64_t row, int column, int count, T (&to)[4], T (&is_live)[4]) {
    if (vector) {
      const WideColumn<T> from = source.column(column);
      load_four(from.values + row * from.apart, to);
      if (Source::masked && from.live != nullptr) load_four(from.live + row * from.apart, is_live);
      return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= count) continue;
      const WideColumn<T> from = source.column(column + i);
      to[i] = from.values[row * from.apart];
      if (Source::masked && from.live != nullptr) is_live[i] = from.live[row * from.apart];
    }
  }

  /// Sends for inner indices [begin, begin + inner) before `end`.
  __device__ void fetch(std::int64_t begin, std::int64_t end) {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int quad = static_cast<int>(threadIdx.x) + turn * Slice::threads;
      const std::int64_t o = first + outer_of(quad), k = begin + inner_of(quad);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[turn][i] = T{0};
        if (Source::masked) live[turn][i] = T{1};
      }
      if ((quads % Slice::threads != 0 && quad >= quads) || o >= outer_end || k >= end) continue;
      const std::int64_t left = along ? end - k : outer_end - o;
      read(along ? o : k, static_cast<int>(along ? k : o), left < 4 ? static_cast<int>(left) : 4, values[turn],
           live[Source::masked ? turn : 0]);
    }
  }

  /// Values that do not count become zero. To be called once for what was fetched.
  __device__ void settle() {
    if constexpr (Source::masked) {
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[turn][i] = live[turn][i] > T{0} ? values[turn][i] : T{0};
      }
    }
  }

  /// slice[k * outers + o], o exchanged.
  __device__ void put(T* slice) const {
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int quad = static_cast<int>(threadIdx.x) + turn * Slice::threads, k = inner_of(quad), o = outer_of(quad);
      if (quads % Slice::threads != 0 && quad >= quads) continue;
      if (along) {
#pragma unroll
        for (int i = 0; i < 4; ++i) slice[(k + i) * outers + (o ^ Slice::exchange(k))] = values[turn][i];
      } else {
        store_wide_four(slice + k * outers + o, values[turn]);
      }
    }
  }
};

/// The calling thread's piece of C: rows row(0 .. 7) and columns column(0 .. 7) of the block's tile.
template <class Slice>
struct WidePlace {
  int group, first_row, first_column;

  __device__ WidePlace()
      : group(static_cast<int>(threadIdx.x) / wide_group_threads),
        first_row(static_cast<int>(threadIdx.x) % wide_group_threads / 8 * 4),
        first_column(static_cast<int>(threadIdx.x) % 8 * 4) {}

  __device__ int row(int i) const { return (Slice::split ? 0 : group * wide_tile) + i / 4 * 32 + first_row + i % 4; }
  __device__ int column(int j) const { return j / 4 * 32 + first_column + j % 4; }
};

template <class T>
using WidePiece = T[wide_piece][wide_piece];

/// sum += the thread's values of one slice.
template <class Slice, bool along_a, bool along_b, class T>
__device__ void multiply_wide_slice(const T* a, const T* b, WidePiece<T>& sum) {
  const WidePlace<Slice> place;
  const int first = Slice::split ? place.group * Slice::group_inner : 0,
            top = Slice::split ? 0 : place.group * wide_tile;
#pragma unroll(sizeof(T) == 8 ? 1 : 4)  // registers for two blocks, or three
  for (int step = 0; step < Slice::group_inner; ++step) {
    const int k = first + step;
    const T* const left =
        a + k * Slice::rows + top + (along_a ? place.first_row ^ Slice::exchange(k) : place.first_row);
    const T* const right = b + k * wide_tile + (along_b ? place.first_column ^ Slice::exchange(k) : place.first_column);
    T x[2][4], w[2][4];
    load_four(left, x[0]);
    load_four(left + 32, x[1]);
    load_four(right, w[0]);
    load_four(right + 32, w[1]);
#pragma unroll
    for (int i = 0; i < wide_piece; ++i) {
#pragma unroll
      for (int j = 0; j < wide_piece; ++j) sum[i][j] += x[i / 4][i % 4] * w[j / 4][j % 4];
    }
  }
}

/// sum += A B over inner indices [begin, end), the thread's piece (of its group's quarter where `split`); `each` is
/// called with what of B goes to shared memory. `memory` holds two slices and is free afterwards. Every thread of the
/// block must call it.
template <class Slice, bool along_a, bool along_b, class A, class B, class T, class Each>
__device__ void multiply_wide(A& a, B& b, std::int64_t begin, std::int64_t end, T* memory, WidePiece<T>& sum,
                              const Each& each) {
  const auto put = [&](T* slice) {
    a.settle();
    b.settle();
    each(b);
    a.put(slice);
    b.put(slice + Slice::inner * Slice::rows);
  };
  a.fetch(begin, end);
  b.fetch(begin, end);
  __syncthreads();
  put(memory);
  __syncthreads();
  int now = 0;
  for (std::int64_t k = begin; k < end; k += Slice::inner) {
    const bool more = k + Slice::inner < end;
    if (more) {
      a.fetch(k + Slice::inner, end);
      b.fetch(k + Slice::inner, end);
    }
    const T* const slice = memory + now * Slice::values;
    multiply_wide_slice<Slice, along_a, along_b>(slice, slice + Slice::inner * Slice::rows, sum);
    now = 1 - now;
    if (more) put(memory + now * Slice::values);
    __syncthreads();
  }
}

/// tile[64][64] = C of the block where it is split (the groups' sums added in order), of group `of` where it is not. To
/// be read after the call, by every thread; every thread must call it.
template <class Slice, class T>
__device__ void put_wide_tile(const WidePiece<T>& sum, int of, T* tile) {
  const WidePlace<Slice> place;
  for (int group = Slice::split ? 0 : of; group < (Slice::split ? Slice::groups : of + 1); ++group) {
#pragma unroll
    for (int i = 0; i < wide_piece; ++i) {
#pragma unroll
      for (int j = 0; j < wide_piece; j += 4) {
        if (place.group != group) continue;
        T* const at = tile + place.row(i) % wide_tile * wide_tile + place.column(j);
        T four[4] = {};
        if (Slice::split && group > 0) load_four(at, four);
#pragma unroll
        for (int k = 0; k < 4; ++k) four[k] += sum[i][j + k];
        store_wide_four(at, four);
      }
    }
    __syncthreads();
  }
}

}  // namespace strobe::cuda
