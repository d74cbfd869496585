// Stable sort of (key, item) pairs of 4 bytes each on the device: items of equal keys keep their order, so sums that
// follow it add in the order of a list, whatever the GPU does first.
#pragma once

#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {

/// Arrays of a sort; the caller fills `keys[0]`. Items are the pairs' numbers 0, 1, 2, ... at the start.
struct PairSort {
  std::uint32_t* keys[2];
  std::uint32_t* items[2];
  std::uint32_t *counts, *workspace;
  std::int64_t count;
  int bits;  // of the largest key
};

/// Keys are below `keys`; count and keys are at most 2^32.
inline bool takes_pair_sort(std::int64_t count, std::int64_t keys) {
  constexpr std::int64_t most = std::int64_t{1} << 32;
  return count < most && keys <= most;
}

/// Bytes of scratch memory for `count` pairs; a multiple of 256.
std::size_t pair_sort_bytes(std::int64_t count);

/// Divides `scratch`, pair_sort_bytes(count) bytes, for keys below `keys`.
PairSort place_pair_sort(std::byte* scratch, std::int64_t count, std::int64_t keys);

struct SortedPairs {
  const std::uint32_t *keys, *items;
};

/// Sorts by ascending keys and returns where the result lies. Cost: 5 bits of the key a pass, each 4 bytes a pair read
/// to count and 8 read and 8 written to move; 3 launches a pass (5 above half a million pairs).
SortedPairs sort_pairs(const KernelContext& context, const PairSort& sort);

}  // namespace strobe::cuda
