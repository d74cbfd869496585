// Graph convolution y = activation((A x) w) in one launch, up to 32 columns on both sides: a warp gathers several rows
// of A x (row_groups.hpp), leaves them in shared memory and multiplies them by w, which every block keeps there too. A
// x crosses memory only where it is asked for. Compulsory bytes: matrix, x, y and `aggregated` once; beyond them the
// rows of x once per entry. Blocks go on to further rows, so w is read once per resident block. Launches: 1.
#include <algorithm>

#include "backends/cuda/kernels/sparse/row_groups.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace graph_convolution_rows_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;  // several waves on any GPU

template <class T>
struct Product {
  const T* w;  // [inner, width]
  T* y;
  int inner, width;
  bool relu;
};

/// Rows from `first` on, with their sums in `sums` [rows, inner]: y = activation(sums w); consecutive lanes write
/// consecutive values.
template <class T>
__device__ void multiply_sums(const Product<T>& product, const T* w, const T* sums, std::int64_t first, int rows) {
  for (int i = lane(); i < rows * product.width; i += warp_lanes) {
    const int row = i / product.width, g = i % product.width;
    T sum{0};
    for (int f = 0; f < product.inner; ++f) sum += sums[row * product.inner + f] * w[f * product.width + g];
    product.y[first * product.width + i] = product.relu && sum < T{0} ? T{0} : sum;  // keeps NaN
  }
}

template <class T, int V>
__global__ void __launch_bounds__(threads) convolve_rows(Compressed<T> a, const Pack<T, V>* x, Pack<T, V>* aggregated,
                                                         Product<T> product, RowGroups groups, int room) {
  unsigned char* const entries = dynamic_shared<unsigned char>();
  const StagedEntries<T> staged(entries, room);
  T* const w = reinterpret_cast<T*>(entries + threads / warp_lanes * StagedEntries<T>::bytes(room));
  const int weights = product.inner * product.width, rows_per_warp = groups.rows_per_warp();
  for (int i = static_cast<int>(threadIdx.x); i < weights; i += threads) w[i] = product.w[i];
  __syncthreads();
  T* const sums = w + weights + warp() * rows_per_warp * product.inner;
  const std::int64_t step = grid_threads() / warp_lanes * rows_per_warp;
  for (std::int64_t first = grid_thread() / warp_lanes * rows_per_warp; first < a.rows; first += step) {
    const Pack<T, V> sum = gather_row(a, x, groups, first, staged);
    const std::int64_t row = first + groups.group();
    if (lane() % groups.row_lanes() < groups.chunks && row < a.rows) {
      T* const to = sums + groups.group() * product.inner + groups.chunk() * V;
      for (int v = 0; v < V; ++v) to[v] = sum.at[v];
      if (aggregated != nullptr) aggregated[row * groups.chunks + groups.chunk()] = sum;
    }
    __syncwarp();
    const std::int64_t left = a.rows - first;
    multiply_sums(product, w, sums, first, left < rows_per_warp ? static_cast<int>(left) : rows_per_warp);
    __syncwarp();
  }
}

template <class T>
void convolve(const GraphConvolution& op, const KernelContext& context) {
  const int inner = static_cast<int>(op.x.columns()), width = static_cast<int>(op.w.columns());
  const auto fits = [&](std::size_t bytes) {
    return takes_packs(op.x.raw(), inner, sizeof(T), bytes) &&
           takes_packs(op.aggregated.raw(), inner, sizeof(T), bytes);
  };
  with_pack<T>(fits, [&](auto length) {
    constexpr int V = decltype(length)::value;
    const RowGroups groups = row_groups(inner / V, op.a.rows, op.a.nonzeros);
    const int rows_per_block = threads / (groups.chunk_lanes * groups.strides);
    const int room = staged_room(groups, op.a.rows, op.a.nonzeros);
    const std::size_t shared = threads / warp_lanes * StagedEntries<T>::bytes(room) +
                               static_cast<std::size_t>(inner * (width + rows_per_block)) * sizeof(T);
    const std::int64_t blocks = (op.a.rows + rows_per_block - 1) / rows_per_block;
    launch(context, std::min(blocks, most_blocks), threads, shared, convolve_rows<T, V>, compressed<T>(op.a),
           reinterpret_cast<const Pack<T, V>*>(op.x.raw()), reinterpret_cast<Pack<T, V>*>(op.aggregated.raw()),
           Product<T>{op.w.data<T>(), op.y.data<T>(), inner, width, op.activation == Activation::relu}, groups, room);
  });
}

bool supports(const GraphConvolution& op) {
  const auto narrow = [](std::int64_t width) { return width >= 1 && width <= widest_group; };
  return narrow(op.x.columns()) && narrow(op.w.columns());
}

void run(const GraphConvolution& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) { convolve<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphConvolution> rows{"cuda", {"rows", 10, supports, run}};

}  // namespace graph_convolution_rows_kernels
}  // namespace strobe::cuda
