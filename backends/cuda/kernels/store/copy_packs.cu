// Row copies in vectors of up to 16 bytes where addresses allow. A block takes tiles of rows, so that row and column
// come from a short division; matrices that are copied whole are one row of vectors after the other, whatever their
// width. Runs are divided among several blocks each. Rows that are added must have distinct targets here. Compulsory
// bytes: what is moved, once read and once written (added: read twice), and the lists.
#include <algorithm>

#include "backends/cuda/kernels/pack.hpp"
#include "backends/cuda/kernels/store/copy_words.hpp"

namespace strobe::cuda {
namespace copy_packs_kernels {

constexpr int threads = 256;
constexpr std::int64_t tile_packs = 2048;

template <bool add, class T, int V>
__device__ void move_pack(const Pack<T, V>& from, Pack<T, V>& to) {
  if constexpr (add) {
    Pack<T, V> sum = to;
    for (int v = 0; v < V; ++v) sum.at[v] += from.at[v];
    to = sum;
  } else {
    to = from;
  }
}

template <bool add, class T, int V>
__global__ void __launch_bounds__(threads) move_rows(RowCopy<Pack<T, V>> copy, std::int64_t tile_rows) {
  const auto width = static_cast<std::uint32_t>(copy.width);
  for (std::int64_t top = blockIdx.x * tile_rows; top < copy.count; top += gridDim.x * tile_rows) {
    const auto here = static_cast<std::uint32_t>(min(tile_rows, copy.count - top)) * width;
    for (std::uint32_t i = threadIdx.x; i < here; i += threads) {
      const std::int64_t row = top + i / width;
      move_pack<add>(*copy.from_at(row, i % width), *copy.to_at(row, i % width));
    }
  }
}

/// A copy of T as a copy of vectors, whose sizes the caller found to fit.
template <class T, int V>
RowCopy<Pack<T, V>> in_packs(const RowCopy<T>& c, bool whole) {
  using P = Pack<T, V>;
  const auto* from = reinterpret_cast<const P*>(c.from);
  auto* to = reinterpret_cast<P*>(c.to);
  if (whole) return {from, to, 1, 1, nullptr, nullptr, c.count * c.width / V, 1};
  return {from, to, c.from_columns / V, c.to_columns / V, c.from_rows, c.to_rows, c.count, c.width / V};
}

template <bool add, class T>
void launch_rows(const RowCopy<T>& c, const KernelContext& context) {
  if (c.count == 0 || c.width == 0) return;
  const bool whole =
      c.from_rows == nullptr && c.to_rows == nullptr && c.width == c.from_columns && c.width == c.to_columns;
  const auto fits = [&](std::size_t bytes) {
    const bool placed = is_multiple(c.from, bytes) && is_multiple(c.to, bytes);
    if (whole) return placed && takes_packs(c.from, c.count * c.width, sizeof(T), bytes);
    return placed && takes_packs(c.from, c.from_columns, sizeof(T), bytes) &&
           takes_packs(c.to, c.to_columns, sizeof(T), bytes) && takes_packs(c.from, c.width, sizeof(T), bytes);
  };
  with_pack<T>(fits, [&](auto length) {
    constexpr int V = decltype(length)::value;
    const RowCopy<Pack<T, V>> packs = in_packs<T, V>(c, whole);
    const std::int64_t tile_rows = std::max<std::int64_t>(1, tile_packs / packs.width);
    launch(context, blocks_for(packs.count, static_cast<int>(tile_rows)), threads, 0, move_rows<add, T, V>, packs,
           tile_rows);
  });
}

/// `pieces` blocks a run.
template <class T, int V>
__global__ void __launch_bounds__(threads) move_runs(RunCopy<Pack<T, V>> copy, std::int64_t pieces) {
  for (std::int64_t block = blockIdx.x; block < copy.count * pieces; block += gridDim.x) {
    const std::int64_t* const run = copy.runs + 3 * (block / pieces);
    const Pack<T, V>* const from = copy.from + run[0] * copy.width;
    Pack<T, V>* const to = copy.to + run[1] * copy.width;
    const std::int64_t packs = run[2] * copy.width;
    for (std::int64_t i = block % pieces * threads + threadIdx.x; i < packs; i += pieces * threads) to[i] = from[i];
  }
}

template <class T>
void launch_runs(const RunCopy<T>& c, std::int64_t rows, const KernelContext& context) {
  constexpr std::int64_t wanted_blocks = 1 << 13;
  if (c.count == 0 || c.width == 0) return;
  const auto fits = [&](std::size_t bytes) {
    return takes_packs(c.from, c.width, sizeof(T), bytes) && takes_packs(c.to, c.width, sizeof(T), bytes);
  };
  with_pack<T>(fits, [&](auto length) {
    constexpr int V = decltype(length)::value;
    using P = Pack<T, V>;
    const RunCopy<P> packs{reinterpret_cast<const P*>(c.from), reinterpret_cast<P*>(c.to), c.runs, c.count,
                           c.width / V};
    // No more blocks a run than one run of all rows would fill.
    const std::int64_t tiles = (rows * packs.width + tile_packs - 1) / tile_packs;
    const std::int64_t pieces = std::max<std::int64_t>(1, std::min(tiles, wanted_blocks / c.count));
    launch(context, blocks_for(c.count * pieces, 1), threads, 0, move_runs<T, V>, packs, pieces);
  });
}

void run_copy_rows(const CopyRows& op, KernelContext& context) {
  if (op.accumulate) {
    with_element(op.to.type(), [&](auto zero) { launch_rows<true>(row_copy<decltype(zero)>(op), context); });
  } else {
    with_word(op.from.type(), [&](auto zero) { launch_rows<false>(row_copy<decltype(zero)>(op), context); });
  }
}

void run_copy_runs(const CopyRuns& op, KernelContext& context) {
  with_word(op.from.type(), [&](auto zero) { launch_runs(run_copy<decltype(zero)>(op), op.rows, context); });
}

bool has_distinct_rows(const CopyRows& op) { return !op.accumulate || !op.to_rows.defined(); }
bool copies(const CopyRuns& op) { return !op.accumulate; }

const RegisterKernel<CopyRows> rows_packs{"cuda", {"packs", 10, has_distinct_rows, run_copy_rows}};
const RegisterKernel<CopyRuns> runs_packs{"cuda", {"packs", 10, copies, run_copy_runs}};

}  // namespace copy_packs_kernels
}  // namespace strobe::cuda
