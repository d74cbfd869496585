// Shared by the attention kernels: dropout's factors on the device, from the same random words as on the host
// (AttentionDropout).
#pragma once

#include <cmath>

#include "backends/cuda/kernel_language.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe::cuda {

/// Softmax works with powers of 2: 2^(log2_e x) = exp(x).
inline constexpr double log2_e = 1.4426950408889634;

/// 2^x; what is below the smallest normal number is 0.
__device__ inline double power_of_two(double x) { return std::exp2(x); }
__device__ inline float power_of_two(float x) {
#if defined(__CUDACC__)
  float power;  // one instruction, whose result std::exp2 takes four more to save denormal numbers from
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}

/// philox as a function of its own: what it computes from the seed alone would otherwise be kept in some twenty
/// registers all along the loops of kernels that drop nothing.
#if defined(__CUDACC__)
__noinline__
#endif
    __device__ inline std::array<std::uint32_t, 4>
    random_words(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  return philox(counter, key);
}

/// AttentionDropout as a kernel's parameter.
struct DropoutFactors {
  std::uint64_t seed, limit;
  double kept;  // factor of what is not dropped
  const std::int64_t* ids;
  const std::int32_t* columns;
  std::int64_t all_vertices;
  std::uint32_t key;
  bool drops;

  __device__ std::array<std::uint32_t, 4> words(std::uint64_t cell, std::uint32_t what, std::uint32_t group,
                                                std::uint32_t purpose) const {
    return random_words(
        {static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(cell >> 32) ^ (group << 16), what, key},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ (purpose << 24)});
  }
  __device__ double factor(std::uint64_t cell, std::uint32_t what, std::uint32_t group, std::uint32_t purpose,
                           std::int64_t word) const {
    return words(cell, what, group, purpose)[word] < limit ? 0.0 : kept;
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

/// Factors of one query of one head over its past, four steps from the same random words.
struct PastFactors {
  const DropoutFactors& dropout;
  std::uint64_t cell;
  std::uint32_t head;

  __device__ PastFactors(const DropoutFactors& factors, std::int64_t vertex, std::int64_t t, std::int64_t of_head)
      : dropout(factors), cell(0), head(static_cast<std::uint32_t>(of_head)) {
    if (factors.drops) {
      cell = static_cast<std::uint64_t>(t * factors.all_vertices + factors.ids[vertex] % factors.all_vertices);
    }
  }
  /// Multiplies what belongs to the steps s, s + 1, ... with their factors; s is a multiple of their number.
  template <class T, int count>
  __device__ void apply(int s, T (&values)[count]) const {
    static_assert(4 % count == 0);
    if (!dropout.drops) return;
    const auto words = dropout.words(cell, static_cast<std::uint32_t>(s / 4), head, random_purpose::past_dropout);
#pragma unroll
    for (int j = 0; j < count; ++j) {
      const std::uint32_t word = words[s % 4 + j];
      values[j] *= word < dropout.limit ? T{0} : static_cast<T>(dropout.kept);
    }
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
