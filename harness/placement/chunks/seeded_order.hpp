// The order in which label propagation asks cells or chunks: a permutation that depends only on the seed.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>

#include "core/random.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// 0, 1, ..., count - 1, shuffled; every level of coarsening has its own, cells are level 0. Under a bound of memory
/// (reading_bound.hpp) a large one lies in a temporary file.
inline GrowingColumn<std::uint32_t> seeded_order(std::size_t count, std::uint64_t seed, std::uint32_t level) {
  GrowingColumn<std::uint32_t> order(count, reading_bound());
  std::iota(order.begin(), order.end(), 0u);
  const RandomStream random(seed, random_purpose::partition, 48 + level);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

}  // namespace strobe
