// Two sparse products in one launch, as spmm_rows.cu makes one of them: the first half of the blocks has the first
// product's rows, the other half the second's. Where both add to the same rows, as the gradients of both directions of
// a walk do, each warp gathers its rows from both matrices. Compulsory bytes: those of both products. Launches: 1.
#include <algorithm>

#include "backends/cuda/kernels/sparse/row_groups.hpp"
#include "backends/operations/operations_pair.hpp"

namespace strobe::cuda {
namespace spmm_pair_rows_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1 << 20;

template <class T, int V>
struct Product {
  Compressed<T> a;
  const Pack<T, V>* x;
  Pack<T, V>* y;
  bool accumulate;
};

/// Member by member, so that both stay where parameters of kernels lie.
template <class T, int V>
__device__ Product<T, V> chosen(bool second, const Product<T, V>& one, const Product<T, V>& other) {
  return {{second ? other.a.offsets : one.a.offsets, second ? other.a.indices : one.a.indices,
           second ? other.a.values : one.a.values, second ? other.a.rows : one.a.rows},
          second ? other.x : one.x,
          second ? other.y : one.y,
          second ? other.accumulate : one.accumulate};
}

/// Value by value a + b.
template <class T, int V>
__device__ Pack<T, V> sum_of(Pack<T, V> a, const Pack<T, V>& b) {
  for (int v = 0; v < V; ++v) a.at[v] += b.at[v];
  return a;
}

/// Calls body(first row, lane's row, whether the lane writes) for the warp's rows of `rows`, of `blocks` blocks.
template <class Body>
__device__ void for_rows(const RowGroups& groups, std::int64_t rows, std::int64_t block, std::int64_t blocks,
                         const Body& body) {
  const std::int64_t warps = threads / warp_lanes, warp_rows = groups.rows_per_warp();
  for (std::int64_t first = (block * warps + warp()) * warp_rows; first < rows; first += blocks * warps * warp_rows) {
    const std::int64_t row = first + groups.group();
    body(first, row, lane() % groups.row_lanes() < groups.chunks && row < rows);
  }
}

template <class T, int V>
__global__ void __launch_bounds__(threads)
    multiply_both(Product<T, V> first_product, Product<T, V> second_product, RowGroups groups, int room) {
  const StagedEntries<T> staged(dynamic_shared<unsigned char>(), room);
  const std::int64_t blocks = gridDim.x / 2;
  const Product<T, V> product = chosen(blockIdx.x >= blocks, first_product, second_product);
  for_rows(groups, product.a.rows, blockIdx.x % blocks, blocks, [&](std::int64_t first, std::int64_t row, bool writes) {
    const Pack<T, V> sum = gather_row(product.a, product.x, groups, first, staged);
    if (!writes) return;
    Pack<T, V>& to = product.y[row * groups.chunks + groups.chunk()];
    to = product.accumulate ? sum_of(to, sum) : sum;
  });
}

/// Both add to the first one's y.
template <class T, int V>
__global__ void __launch_bounds__(threads)
    add_both(Product<T, V> first_product, Product<T, V> second_product, RowGroups groups, int room) {
  const StagedEntries<T> staged(dynamic_shared<unsigned char>(), room);
  for_rows(groups, first_product.a.rows, blockIdx.x, gridDim.x, [&](std::int64_t first, std::int64_t row, bool writes) {
    const Pack<T, V> sum = gather_row(first_product.a, first_product.x, groups, first, staged);
    const Pack<T, V> other = gather_row(second_product.a, second_product.x, groups, first, staged);
    if (!writes) return;
    Pack<T, V>& to = first_product.y[row * groups.chunks + groups.chunk()];
    to = sum_of(first_product.accumulate ? sum_of(to, sum) : sum, other);
  });
}

/// One product's matrix, input and result, however it is turned.
template <class T>
struct Operands {
  Compressed<T> a;
  std::int64_t entries;
  const Tensor &x, &y;
  bool accumulate;

  explicit Operands(const Spmm& op)
      : a(compressed<T>(op.a)), entries(op.a.nonzeros), x(op.x), y(op.y), accumulate(op.accumulate) {}
  explicit Operands(const SpmmTransposed& op)
      : a(compressed_transpose<T>(op.a)), entries(op.a.nonzeros), x(op.y), y(op.x), accumulate(op.accumulate) {}

  template <int V>
  Product<T, V> product() const {
    return {a, reinterpret_cast<const Pack<T, V>*>(x.raw()), reinterpret_cast<Pack<T, V>*>(y.raw()), accumulate};
  }
  bool fits(std::int64_t width, std::size_t bytes) const {
    return takes_packs(x.raw(), width, sizeof(T), bytes) && takes_packs(y.raw(), width, sizeof(T), bytes);
  }
};

template <class T>
void multiply(const Operands<T>& first, const Operands<T>& second, const KernelContext& context) {
  const std::int64_t width = first.y.columns(), rows = std::max(first.a.rows, second.a.rows);
  const auto fits = [&](std::size_t bytes) { return first.fits(width, bytes) && second.fits(width, bytes); };
  with_pack<T>(fits, [&](auto length) {
    constexpr int V = decltype(length)::value;
    const RowGroups groups = row_groups(static_cast<int>(width) / V, 2 * rows, first.entries + second.entries);
    const int room = staged_room(groups, 2 * rows, first.entries + second.entries);
    const bool same = first.y.raw() == second.y.raw();
    const std::int64_t lanes = rows * groups.chunk_lanes * groups.strides;
    const std::int64_t blocks = std::min(most_blocks, blocks_for(lanes, threads)) * (same ? 1 : 2);
    launch(context, blocks, threads, threads / warp_lanes * StagedEntries<T>::bytes(room),
           same ? add_both<T, V> : multiply_both<T, V>, first.template product<V>(), second.template product<V>(),
           groups, room);
  });
}

bool supports_pair(const SpmmPair& op) {
  return op.first.y.columns() == op.second.y.columns() && fits_warp(op.first.x, op.first.y) &&
         fits_warp(op.second.x, op.second.y);
}

bool supports_transposed(const SpmmTransposedPair& op) {
  const bool in_order = op.first.x.raw() != op.second.x.raw() || op.second.accumulate;
  return in_order && op.first.x.columns() == op.second.x.columns() && op.first.a.transposed_offsets.defined() &&
         op.second.a.transposed_offsets.defined() && fits_warp(op.first.y, op.first.x) &&
         fits_warp(op.second.y, op.second.x);
}

void run_pair(const SpmmPair& op, KernelContext& context) {
  with_element(op.first.y.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply<T>(Operands<T>(op.first), Operands<T>(op.second), context);
  });
}

void run_transposed(const SpmmTransposedPair& op, KernelContext& context) {
  with_element(op.first.x.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply<T>(Operands<T>(op.first), Operands<T>(op.second), context);
  });
}

const RegisterKernel<SpmmPair> rows{"cuda", {"rows", 10, supports_pair, run_pair}};
const RegisterKernel<SpmmTransposedPair> rows_transposed{"cuda", {"rows", 10, supports_transposed, run_transposed}};

}  // namespace spmm_pair_rows_kernels
}  // namespace strobe::cuda
