// Shared by the kernels of attention over sampled neighbours: arrays, sizes, and the scaling of the product of a query
// and a key before the softmax.
#pragma once

#include <array>
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe::cpu {

/// Raw arrays and sizes of NeighbourAttention or its backward pass.
template <class T>
struct NeighbourView {
  const T *q, *vertex, *code, *code_query;
  const std::int64_t *rows, *offsets;
  std::int64_t width, heads, depth, codes;  // depth: columns of a head; codes: columns of a code
  AttentionScale scale;
};

template <class T, class Op>
NeighbourView<T> neighbour_view(const Op& op) {
  return {op.q.template data<T>(),
          op.vertex.template data<T>(),
          op.code.template data<T>(),
          op.code_query.template data<T>(),
          op.rows.template data<std::int64_t>(),
          op.offsets.template data<std::int64_t>(),
          op.q.columns(),
          op.heads,
          op.q.columns() / op.heads,
          op.code.columns(),
          op.scale};
}

/// AttentionScale for a root with `found` slots and heads of `depth` columns.
struct NeighbourScale {
  double factor = 1;  // without `leaky`
  bool is_leaky = false;

  NeighbourScale(AttentionScale scale, std::int64_t found, std::int64_t depth)
      : is_leaky(scale == AttentionScale::leaky) {
    if (!is_leaky) factor = 1.0 / std::sqrt(static_cast<double>(scale == AttentionScale::head ? depth : found));
  }
  double slope(double product) const { return !is_leaky ? factor : product > 0 ? 1.0 : leaky_slope; }
  double score(double product) const { return product * slope(product); }
};

/// Dropout's factor of head `head` of the slot-th neighbour of row `root` of the roots.
inline double neighbour_factor(const NeighbourDropout& dropout, std::int64_t root, std::int64_t slot,
                               std::int64_t head) {
  if (!dropout.drops()) return 1;
  return dropout.of(static_cast<std::uint64_t>(dropout.roots.data<std::int64_t>()[root]),
                    static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(head));
}

/// The random words of heads 4 group, 4 group + 1, ... of one slot (NeighbourDropout::of): four heads a draw. Its ten
/// rounds cost far more than a call.
[[gnu::noinline]] inline std::array<std::uint32_t, 4> neighbour_words(const NeighbourDropout& dropout,
                                                                      std::int64_t root, std::int64_t slot,
                                                                      std::int64_t group) {
  const std::uint64_t number = dropout.roots.data<std::int64_t>()[root];
  return philox({static_cast<std::uint32_t>(number),
                 static_cast<std::uint32_t>(number >> 32) ^ (static_cast<std::uint32_t>(group) << 16),
                 static_cast<std::uint32_t>(slot), dropout.iteration},
                {static_cast<std::uint32_t>(dropout.seed),
                 static_cast<std::uint32_t>(dropout.seed >> 32) ^ (random_purpose::neighbour_dropout << 24)});
}

}  // namespace strobe::cpu
