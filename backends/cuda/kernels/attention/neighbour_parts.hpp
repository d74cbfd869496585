// Shared by the kernels of attention over sampled neighbours: arrays and sizes, the scaling of the product of a query
// and a key before the softmax, and dropout's factors, from the same random words as on the host (NeighbourDropout).
#pragma once

#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe::cuda {

/// NeighbourDropout as a kernel's parameter.
struct NeighbourFactors {
  std::uint64_t seed, limit;
  double kept;                  // factor of what is not dropped
  const std::int64_t* numbers;  // of roots; null: nothing is dropped
  std::uint32_t iteration;

  /// The factor of head `head` of the slot-th neighbour of row `root` of the roots.
  __device__ double of(std::int64_t root, std::int64_t slot, std::int64_t head) const {
    if (numbers == nullptr) return 1;
    const std::uint64_t number = numbers[root];
    const auto group = static_cast<std::uint32_t>(head / 4);
    const auto words =
        random_words({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32) ^ (group << 16),
                      static_cast<std::uint32_t>(slot), iteration},
                     {static_cast<std::uint32_t>(seed),
                      static_cast<std::uint32_t>(seed >> 32) ^ (random_purpose::neighbour_dropout << 24)});
    return words[head % 4] < limit ? 0.0 : kept;
  }
};

inline NeighbourFactors factors_of(const NeighbourDropout& dropout) {
  if (!dropout.drops()) return {0, 0, 1.0, nullptr, 0};
  return {dropout.seed, static_cast<std::uint64_t>(dropout.rate * 0x1.0p32), 1.0 / (1.0 - dropout.rate),
          dropout.roots.data<std::int64_t>(), dropout.iteration};
}

/// Device arrays and sizes of NeighbourAttention or its backward pass.
template <class T>
struct NeighbourArrays {
  const T *q, *vertex, *code, *code_query;
  const std::int64_t *rows, *offsets;
  std::int64_t roots;
  int heads, depth, codes;  // columns of a head, and of a code
  AttentionScale scale;
  NeighbourFactors dropout;

  __device__ int width() const { return heads * depth; }
  /// Where the keys of slot s begin in `vertex`; the values follow width() further on.
  __device__ const T* of_vertex(std::int64_t s) const { return vertex + rows[s] * 2 * width(); }
  __device__ const T* of_code(std::int64_t s) const { return code + s * codes; }
  /// Where a root's head begins in code_query, and in whatever has its shape.
  __device__ std::int64_t of_codes(std::int64_t root, int head) const { return (root * heads + head) * codes; }
  /// The factor of the product of a root and a slot, when the root has `found` slots.
  __device__ double factor(double product, std::int64_t found) const {
    if (scale == AttentionScale::leaky) return product > 0 ? 1.0 : leaky_slope;
    return 1.0 / std::sqrt(static_cast<double>(scale == AttentionScale::head ? depth : found));
  }
};

template <class T, class Op>
NeighbourArrays<T> neighbour_arrays(const Op& op) {
  return {op.q.template data<T>(),
          op.vertex.template data<T>(),
          op.code.template data<T>(),
          op.code_query.template data<T>(),
          op.rows.template data<std::int64_t>(),
          op.offsets.template data<std::int64_t>(),
          op.q.rows(),
          static_cast<int>(op.heads),
          static_cast<int>(op.q.columns() / op.heads),
          static_cast<int>(op.code.columns()),
          op.scale,
          factors_of(op.dropout)};
}

}  // namespace strobe::cuda
