// Shared by forward and backward of the fast graph attention: scores of all vertices, taken once, and how the
// lanes of a warp are shared out among rows (or columns).
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cuda/kernels/attention/attention_parts.hpp"

namespace strobe::cuda {

/// A group of lanes * slots lanes of a warp has one row: lane c of a slot has feature c of a pass over whole heads, and
/// the slots take the row's entries in turns.
struct RowLanes {
  int lanes = 1, slots = 1, features = 1;

  __device__ int width() const { return lanes * slots; }
  __device__ int rows() const { return warp_lanes / width(); }
};

/// Lanes for rows of `heads` heads of `depth` <= 32 columns with `degree` entries on average: about eight entries a
/// slot, so that few entries do not leave lanes idle and many do not make one lane wait.
inline RowLanes row_lanes(std::int64_t heads, std::int64_t depth, std::int64_t degree) {
  RowLanes how;
  how.features = static_cast<int>(std::min(heads, warp_lanes / depth) * depth);
  while (how.lanes < how.features) how.lanes *= 2;
  while (how.slots * how.lanes < warp_lanes && how.slots * 8 < degree) how.slots *= 2;
  return how;
}

/// Entries that a lane looks at together, so that their gathered loads are on their way at once. Where fewer are left,
/// the last one is read again and weighs nothing.
inline constexpr int entries_together = 4;

/// LeakyReLU's slope at `logit`, for scores to the base of 2.
template <class T>
__device__ T slope_of_two(T logit) {
  return logit > T{0} ? static_cast<T>(log2_e) : static_cast<T>(leaky_slope * log2_e);
}

/// to[(cell * heads + head) * apart] = f_cell . with, over the columns of the head; a thread a cell and head.
template <class T>
__global__ void take_scores(const T* f, const T* with, std::int64_t cells, int heads, int depth, T* to, int apart) {
  for (std::int64_t i = grid_thread(); i < cells * heads; i += grid_threads()) {
    const T *row = f + i * depth, *vector = with + static_cast<int>(i % heads) * depth;
    double sum = 0;
    for (int d = 0; d < depth; ++d) sum += static_cast<double>(row[d]) * static_cast<double>(vector[d]);
    to[i * apart] = static_cast<T>(sum);
  }
}

template <class T>
void launch_scores(const KernelContext& context, const Tensor& f, const Tensor& with, std::int64_t cells,
                   std::int64_t heads, T* to, int apart) {
  constexpr int threads = 256;
  launch(context, blocks_for(cells * heads, threads), threads, 0, take_scores<T>, static_cast<const T*>(f.data<T>()),
         static_cast<const T*>(with.data<T>()), cells, static_cast<int>(heads), static_cast<int>(f.columns() / heads),
         to, apart);
}

}  // namespace strobe::cuda
