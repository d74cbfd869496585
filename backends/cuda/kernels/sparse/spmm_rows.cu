// Sparse products with up to 32 columns, or 32 vectors of columns, with vector loads and several rows a warp where they
// are narrow (row_groups.hpp); the transposed product where the transpose is stored. Compulsory bytes: the matrix,
// input and result once; beyond them the input's rows once per entry, in whole sectors of 32 bytes.
// Launches: 1.
#include "backends/cuda/kernels/sparse/row_groups.hpp"

namespace strobe::cuda {
namespace spmm_rows_kernels {

constexpr int threads = 256;

template <class T, int V>
__global__ void __launch_bounds__(threads)
    multiply_rows(Compressed<T> a, const Pack<T, V>* x, Pack<T, V>* y, RowGroups groups, int room, bool accumulate) {
  const StagedEntries<T> staged(dynamic_shared<unsigned char>(), room);
  const std::int64_t rows_per_warp = groups.rows_per_warp();
  const std::int64_t step = grid_threads() / warp_lanes * rows_per_warp;
  for (std::int64_t first = grid_thread() / warp_lanes * rows_per_warp; first < a.rows; first += step) {
    Pack<T, V> sum = gather_row(a, x, groups, first, staged);
    const std::int64_t row = first + groups.group();
    const bool writes = lane() % groups.row_lanes() < groups.chunks && row < a.rows;
    if (!writes) continue;
    Pack<T, V>& to = y[row * groups.chunks + groups.chunk()];
    if (accumulate) {
      const Pack<T, V> before = to;
      for (int v = 0; v < V; ++v) sum.at[v] += before.at[v];
    }
    to = sum;
  }
}

template <class T>
void multiply(const Compressed<T>& a, std::int64_t entries, const T* x, T* y, std::int64_t width, bool accumulate,
              const KernelContext& context) {
  const auto fits = [&](std::size_t bytes) {
    return takes_packs(x, width, sizeof(T), bytes) && takes_packs(y, width, sizeof(T), bytes);
  };
  with_pack<T>(fits, [&](auto length) {
    constexpr int V = decltype(length)::value;
    const RowGroups groups = row_groups(static_cast<int>(width) / V, a.rows, entries);
    const std::int64_t lanes = a.rows * groups.chunk_lanes * groups.strides;
    const int room = staged_room(groups, a.rows, entries);
    launch(context, blocks_for(lanes, threads), threads, threads / warp_lanes * StagedEntries<T>::bytes(room),
           multiply_rows<T, V>, a, reinterpret_cast<const Pack<T, V>*>(x), reinterpret_cast<Pack<T, V>*>(y), groups,
           room, accumulate);
  });
}

bool supports_spmm(const Spmm& op) { return fits_warp(op.x, op.y); }
bool supports_transposed(const SpmmTransposed& op) {
  return fits_warp(op.x, op.y) && op.a.transposed_offsets.defined();
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply(compressed<T>(op.a), op.a.nonzeros, op.x.data<T>(), op.y.data<T>(), op.y.columns(), op.accumulate,
             context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply(compressed_transpose<T>(op.a), op.a.nonzeros, op.y.data<T>(), op.x.data<T>(), op.x.columns(),
             op.accumulate, context);
  });
}

const RegisterKernel<Spmm> rows{"cuda", {"rows", 10, supports_spmm, run_spmm}};
const RegisterKernel<SpmmTransposed> rows_transposed{"cuda", {"rows", 10, supports_transposed, run_spmm_transposed}};

}  // namespace spmm_rows_kernels
}  // namespace strobe::cuda
