// Who does what in a warp that has one root and head of attention over sampled neighbours: the slots of a group of
// lanes, the columns of a lane, and sums over codes (neighbour_attention_warps.cu).
#pragma once

#include <algorithm>

#include "backends/cuda/kernels/attention/neighbour_parts.hpp"

namespace strobe::cuda {
namespace neighbour_attention_warps_kernels {

constexpr int most_columns = 4;  // of a lane
constexpr unsigned all_lanes = 0xffffffffu;

/// Slots that a group looks at together, with K columns a lane.
template <int K>
constexpr int together = K <= 2 ? 4 : 2;

/// The root and head of a warp, and the part of a lane: columns at, at + lanes, ... of slots group, group + groups, ...
template <class T>
struct Part {
  const NeighbourArrays<T>& op;
  int lanes, groups, at, group;
  std::int64_t root = 0, begin = 0;
  int head = 0, count = 0;
  T scale{1};  // of products that are positive

  __device__ Part(const NeighbourArrays<T>& arrays, int lanes_of_slot)
      : op(arrays),
        lanes(lanes_of_slot),
        groups(warp_lanes / lanes_of_slot),
        at(lane() % lanes_of_slot),
        group(lane() / lanes_of_slot) {}
  __device__ void enter(std::int64_t item) {
    root = item / op.heads;
    head = static_cast<int>(item % op.heads);
    begin = op.offsets[root];
    count = static_cast<int>(op.offsets[root + 1] - begin);
    scale = static_cast<T>(op.factor(1.0, count));
  }
  __device__ T factor(T product) const {
    return op.scale == AttentionScale::leaky && !(product > T{0}) ? static_cast<T>(leaky_slope) : scale;
  }
  /// The lane's columns of `row`, which begins with the head's; zero after the last one.
  template <int K>
  __device__ void load(const T* row, T (&to)[K]) const {
#pragma unroll
    for (int i = 0; i < K; ++i) to[i] = at + i * lanes < op.depth ? row[at + i * lanes] : T{0};
  }
  template <int K>
  __device__ void store(const T (&from)[K], T* row) const {
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (at + i * lanes < op.depth) row[at + i * lanes] = from[i];
    }
  }
  /// Where the head's columns of a row of [., F] begin.
  __device__ std::int64_t of_root() const { return root * op.width() + head * op.depth; }
  /// The lane's columns of the keys (part 0) or values (part 1) of slot `slot` of the root.
  template <int K>
  __device__ void load_slot(int slot, int part, T (&to)[K]) const {
    load(op.of_vertex(begin + slot) + part * op.width() + head * op.depth, to);
  }
  /// Adds x . code to products[j], the lane's columns of it, for the slots that the group looks at together; x is a
  /// root's head of code_query, or like it.
  template <int N>
  __device__ void add_codes(const T* x, int first, T (&products)[N]) const {
    const T* code[N];
#pragma unroll
    for (int j = 0; j < N; ++j) code[j] = op.of_code(begin + slot_at(first, j));
    for (int c = at; c < op.codes; c += lanes) {
      const T value = x[c];
#pragma unroll
      for (int j = 0; j < N; ++j) products[j] += value * code[j][c];
    }
  }
  /// to = the sum of the root's codes by the head's weights [S, H]; the whole warp takes columns in turns.
  __device__ void sum_codes(const T* weights, T* to) const {
    constexpr int N = most_columns;
    for (int first = lane(); first < op.codes; first += N * warp_lanes) {
      T sums[N] = {};
      for (int slot = 0; slot < count; ++slot) {
        const T weight = weights[(begin + slot) * op.heads + head], *const code = op.of_code(begin + slot);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const int c = first + i * warp_lanes;
          if (c < op.codes) sums[i] += weight * code[c];
        }
      }
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const int c = first + i * warp_lanes;
        if (c < op.codes) to[op.of_codes(root, head) + c] = sums[i];
      }
    }
  }
  /// The j-th slot that the group looks at together with `first`; where there is none, the last one.
  __device__ int slot_at(int first, int j) const { return min(first + j * groups, count - 1); }
  /// sums[j] over the lanes of the group.
  template <int N>
  __device__ void add_lanes(T (&sums)[N]) const {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int j = 0; j < N; ++j) sums[j] += __shfl_xor_sync(all_lanes, sums[j], distance);
    }
  }
  __device__ T dropped(T value, int slot) const {
    return op.dropout.numbers == nullptr ? value : value * static_cast<T>(op.dropout.of(root, slot, head));
  }
};

template <class T, int K>
__device__ T product_of(const T (&x)[K], const T (&y)[K]) {
  T sum{0};
#pragma unroll
  for (int i = 0; i < K; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace neighbour_attention_warps_kernels
}  // namespace strobe::cuda
