// A block takes a chunk: its threads add runs of values, scan the runs' sums and write the run's prefixes. More chunks
// than one are added up first, and their sums scanned in the same way. Integers: the order of additions has no effect.
#include "backends/cuda/kernels/sparse/prefix_sums.hpp"

namespace strobe::cuda {
namespace prefix_sums_kernels {

constexpr int threads = 256, run_length = 16;
constexpr std::int64_t chunk = threads * run_length;

std::int64_t chunks_of(std::int64_t count) { return (count + chunk - 1) / chunk; }

__global__ void add_chunks(const std::uint32_t* values, std::int64_t count, std::uint32_t* sums) {
  STROBE_SHARED(std::uint32_t[warp_lanes], scratch);
  const std::int64_t begin = blockIdx.x * chunk, end = min(count, begin + chunk);
  std::uint32_t sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) sum += values[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// `bases` are the sums of the chunks in front of each, or null for a single chunk.
__global__ void scan_chunks(std::uint32_t* values, std::int64_t count, const std::uint32_t* bases) {
  STROBE_SHARED(std::uint32_t[warp_lanes], scratch);
  const std::int64_t begin = blockIdx.x * chunk + threadIdx.x * run_length;
  const std::int64_t end = min(count, begin + run_length);
  std::uint32_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += values[i];
  std::uint32_t before = sum_before(sum, scratch) + (bases == nullptr ? 0u : bases[blockIdx.x]);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint32_t value = values[i];
    values[i] = before;
    before += value;
  }
}

}  // namespace prefix_sums_kernels

std::int64_t exclusive_sums_workspace(std::int64_t count) {
  using namespace prefix_sums_kernels;
  const std::int64_t chunks = chunks_of(count);
  return chunks <= 1 ? 0 : chunks + exclusive_sums_workspace(chunks);
}

void exclusive_sums(const KernelContext& context, std::uint32_t* values, std::int64_t count, std::uint32_t* workspace) {
  using namespace prefix_sums_kernels;
  const std::int64_t chunks = chunks_of(count);
  if (chunks <= 1) {
    launch(context, chunks, threads, 0, scan_chunks, values, count, static_cast<const std::uint32_t*>(nullptr));
    return;
  }
  launch(context, chunks, threads, 0, add_chunks, values, count, workspace);
  exclusive_sums(context, workspace, chunks, workspace + chunks);
  launch(context, chunks, threads, 0, scan_chunks, values, count, workspace);
}

}  // namespace strobe::cuda
