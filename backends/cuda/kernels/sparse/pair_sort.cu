// Radix sort from the lowest digit up. A pass counts the digits of every tile of pairs, finds by prefix sums over
// (digit, tile) where each tile's pairs of a digit go, and moves them: within a tile every thread owns consecutive
// pairs and one column of counters per digit, whose prefix sums over (digit, thread) are the pairs' places in the
// sorted tile; from there they go out in runs of neighbours. Nothing depends on which block or thread is first.
#include <algorithm>

#include "backends/cuda/kernels/scratch_part.hpp"
#include "backends/cuda/kernels/sparse/pair_sort.hpp"
#include "backends/cuda/kernels/sparse/prefix_sums.hpp"

namespace strobe::cuda {
namespace pair_sort_kernels {

constexpr int threads = 256;
constexpr int owned = 15;  // pairs a thread owns; odd, so that a warp's threads read different banks
constexpr int tile = threads * owned;
constexpr int digit_bits = 5, digits = 1 << digit_bits;
constexpr int run_length = digits;  // counters that one thread scans

/// Place of a counter in shared memory: two unused 2-byte words after every run keep threads on different banks.
__device__ int padded_counter(int digit, int thread) {
  const int place = digit * threads + thread;
  return place + place / run_length * 2;
}
constexpr int padded_counters = digits * threads + threads * 2;

struct Pass {
  const std::uint32_t *keys, *items;  // items null: the pairs' numbers
  std::uint32_t *sorted_keys, *sorted_items, *counts;
  std::int64_t count, tiles;
  int shift;

  __device__ int digit(std::uint32_t key) const { return static_cast<int>(key >> shift) & (digits - 1); }
  __device__ int here() const {
    const std::int64_t left = count - static_cast<std::int64_t>(blockIdx.x) * tile;
    return left < tile ? static_cast<int>(left) : tile;
  }
};

__global__ void __launch_bounds__(threads) count_digits(Pass pass) {
  STROBE_SHARED(std::uint32_t[digits], found);
  if (threadIdx.x < digits) found[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t* const keys = pass.keys + static_cast<std::int64_t>(blockIdx.x) * tile;
  for (int i = static_cast<int>(threadIdx.x); i < pass.here(); i += threads) atomicAdd(found + pass.digit(keys[i]), 1u);
  __syncthreads();
  if (threadIdx.x < digits) pass.counts[threadIdx.x * pass.tiles + blockIdx.x] = found[threadIdx.x];
}

/// Counters to their prefix sums over (digit, thread).
__device__ void scan_counters(std::uint16_t* counters, std::uint32_t* scratch) {
  std::uint16_t* const own = counters + threadIdx.x * (run_length + 2);
  std::uint32_t sum = 0;
  for (int i = 0; i < run_length; ++i) sum += own[i];
  std::uint32_t before = sum_before(sum, scratch);
  for (int i = 0; i < run_length; ++i) {
    const std::uint32_t value = own[i];
    own[i] = static_cast<std::uint16_t>(before);
    before += value;
  }
}

/// Places of the thread's own pairs in the sorted tile; leaves the first place of every digit in `first`.
__device__ void find_places(const Pass& pass, const std::uint32_t (&keys)[owned], int own, std::uint16_t* counters,
                            std::uint32_t* scratch, std::uint32_t* first, int (&places)[owned]) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < padded_counters; i += threads) counters[i] = 0;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    if (j < own) places[j] = counters[padded_counter(pass.digit(keys[j]), thread)]++;
  }
  __syncthreads();
  scan_counters(counters, scratch);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    if (j < own) places[j] += counters[padded_counter(pass.digit(keys[j]), thread)];
  }
  if (thread < digits) first[thread] = counters[padded_counter(thread, 0)];
}

__global__ void __launch_bounds__(threads) move_pairs(Pass pass) {
  STROBE_SHARED(std::uint32_t[tile], staged);
  STROBE_SHARED(std::uint32_t[warp_lanes], scratch);
  STROBE_SHARED(std::uint32_t[digits], first);
  STROBE_SHARED(std::uint16_t[padded_counters], counters);
  const int thread = static_cast<int>(threadIdx.x), here = pass.here(), begin = thread * owned;
  const int own = max(0, min(owned, here - begin));
  const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * tile;
  for (int i = thread; i < here; i += threads) staged[i] = pass.keys[base + i];
  __syncthreads();
  std::uint32_t keys[owned] = {};
  int places[owned] = {};
  std::int64_t targets[owned] = {};
#pragma unroll
  for (int j = 0; j < owned; ++j) keys[j] = j < own ? staged[begin + j] : 0;
  find_places(pass, keys, own, counters, scratch, first, places);
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    if (j < own) staged[places[j]] = keys[j];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    const int i = j * threads + thread, digit = i < here ? pass.digit(staged[i]) : 0;
    if (i >= here) continue;
    targets[j] = std::int64_t{pass.counts[digit * pass.tiles + blockIdx.x]} + i - static_cast<int>(first[digit]);
    pass.sorted_keys[targets[j]] = staged[i];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    const std::int64_t from = base + begin + j;
    if (j < own) staged[places[j]] = pass.items == nullptr ? static_cast<std::uint32_t>(from) : pass.items[from];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < owned; ++j) {
    if (j * threads + thread < here) pass.sorted_items[targets[j]] = staged[j * threads + thread];
  }
}

std::int64_t tiles_of(std::int64_t count) { return (count + tile - 1) / tile; }

/// At least one pass, even for a key without bits, so that items are written.
int passes_of(int bits) { return std::max(1, (bits + digit_bits - 1) / digit_bits); }

}  // namespace pair_sort_kernels

std::size_t pair_sort_bytes(std::int64_t count) {
  using namespace pair_sort_kernels;
  const std::int64_t counts = tiles_of(count) * digits;
  return 4 * scratch_part(count, 4) + scratch_part(counts, 4) + scratch_part(exclusive_sums_workspace(counts), 4);
}

PairSort place_pair_sort(std::byte* scratch, std::int64_t count, std::int64_t keys) {
  using namespace pair_sort_kernels;
  const std::int64_t counts = tiles_of(count) * digits;
  const auto take = [&](std::int64_t elements) {
    std::byte* const part = scratch;
    scratch += scratch_part(elements, 4);
    return reinterpret_cast<std::uint32_t*>(part);
  };
  PairSort sort{};
  for (int side = 0; side < 2; ++side) {
    sort.keys[side] = take(count);
    sort.items[side] = take(count);
  }
  sort.counts = take(counts);
  sort.workspace = take(exclusive_sums_workspace(counts));
  sort.count = count;
  while (sort.bits < 32 && (std::int64_t{1} << sort.bits) < keys) ++sort.bits;
  return sort;
}

SortedPairs sort_pairs(const KernelContext& context, const PairSort& sort) {
  using namespace pair_sort_kernels;
  const std::int64_t tiles = tiles_of(sort.count);
  int from = 0;
  for (int p = 0; p < passes_of(sort.bits); ++p, from = 1 - from) {
    const Pass pass{sort.keys[from],
                    p == 0 ? nullptr : sort.items[from],
                    sort.keys[1 - from],
                    sort.items[1 - from],
                    sort.counts,
                    sort.count,
                    tiles,
                    p * digit_bits};
    launch(context, tiles, threads, 0, count_digits, pass);
    exclusive_sums(context, sort.counts, tiles * digits, sort.workspace);
    launch(context, tiles, threads, 0, move_pairs, pass);
  }
  return {sort.keys[from], sort.items[from]};
}

}  // namespace strobe::cuda
