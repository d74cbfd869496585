// What the kernels of attention share: dropout's factors on the device, from the same random words as on the host
// (AttentionDropout).
#pragma once

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations_attention.hpp"

namespace strobe::cuda {

/// AttentionDropout as a kernel's parameter.
struct DropoutFactors {
  std::uint64_t seed, limit;
  double kept;  // factor of what is not dropped
  const std::int64_t* ids;
  const std::int32_t* columns;
  std::int64_t all_vertices;
  std::uint32_t key;
  bool drops;

  __device__ double factor(std::uint64_t cell, std::uint32_t what, std::uint32_t group, std::uint32_t purpose,
                           std::int64_t word) const {
    const auto words =
        philox({static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(cell >> 32) ^ (group << 16), what, key},
               {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ (purpose << 24)});
    return words[static_cast<std::size_t>(word)] < limit ? 0.0 : kept;
  }
  /// Factor of head `head` of the edge from `column` to `row`.
  __device__ double of_edge(std::int64_t row, std::int64_t column, std::int64_t head) const {
    if (!drops) return 1;
    return factor(static_cast<std::uint64_t>(ids[row]), static_cast<std::uint32_t>(columns[column]),
                  static_cast<std::uint32_t>(head / 4), random_purpose::edge_dropout, head % 4);
  }
  /// Factor of head `head` of the query of `vertex` at step t for step s.
  __device__ double of_past(std::int64_t vertex, std::int64_t t, std::int64_t s, std::int64_t head) const {
    if (!drops) return 1;
    return factor(static_cast<std::uint64_t>(t * all_vertices + ids[vertex] % all_vertices),
                  static_cast<std::uint32_t>(s / 4), static_cast<std::uint32_t>(head), random_purpose::past_dropout,
                  s % 4);
  }
};

inline DropoutFactors factors_of(const AttentionDropout& dropout) {
  const bool drops = dropout.drops();
  return {dropout.seed,
          drops ? dropout.limit() : 0,
          drops ? dropout.factor(0xffffffffu) : 1.0,
          dropout.ids.data<std::int64_t>(),
          dropout.columns.data<std::int32_t>(),
          dropout.all_vertices,
          dropout.key,
          drops};
}

}  // namespace strobe::cuda
