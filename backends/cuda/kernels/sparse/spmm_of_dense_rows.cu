// Sparse product of a dense layer's output with the layer's weights in registers (spmm_of_dense_lanes.hpp): a lane
// holds the sums of 4, 6 or 18 columns over its share of a row's entries, the shares meet in shared memory, and a warp
// writes its rows with neighbouring lanes on neighbouring values. The features are padded to two or four.
// Compulsory bytes: the matrix, x and y once. Beyond them F values of x per entry, from the first level cache, and the
// matrix once more from there for every further tile of columns. Instructions: F + 2 per entry and column and 14 per
// entry and tile, half as many again where rows of 15 entries differ as a random graph's do, since a warp waits for its
// longest. Launches: 1.
#include "backends/cuda/kernels/sparse/spmm_of_dense_lanes.hpp"

namespace strobe::cuda {
namespace spmm_of_dense_rows_kernels {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 1 << 20;

/// Blocks that a multiprocessor holds, of 128 or 80 registers a thread.
template <int C, class T>
inline constexpr int resident = C > 6 || sizeof(T) == 8 ? 2 : 3;

/// Values between the lanes' sums in shared memory: an odd number.
template <int C>
inline constexpr int lane_stride = C | 1;

/// Columns [column, column + C) of `rows` rows from `first` on; the sums of a row's shares lie in `row_lanes` lanes.
template <int C, class T>
__device__ void write_rows(const OfDense<T>& op, const T* sums, std::int64_t first, int rows, int row_lanes, int column,
                           T* y) {
  for (int i = lane(); i < rows * C; i += warp_lanes) {
    const int row = i / C, g = i % C;
    if (column + g >= op.width) continue;
    const T* const shares = sums + row * row_lanes * lane_stride<C> + g;
    T sum = shares[0];
    for (int share = 1; share < row_lanes; ++share) sum += shares[share * lane_stride<C>];
    y[(first + row) * op.width + column + g] = sum;
  }
}

/// The rows of one part.
template <int F, int C, class T>
__device__ void multiply_part(const OfDense<T>& op, const WarpTeams& teams, int part, T* sums, T* y) {
  const int column = teams.tile() * C;
  const RowRange range = rows_of_part(op, part);
  const LayerColumns<T, F, C> layer(op, part / op.steps.parts, column);
  const std::int64_t begin = range.begin + teams.row_warp() * teams.warp_rows();
  for (std::int64_t first = begin; first < range.end; first += teams.block_rows()) {
    for_shares(op, teams, first, range.end, [&](const RowShare& share, bool whole) {
      T sum[C] = {};
      for_entries<F>(op, share, [&](T value, const T(&x)[F]) {
#pragma unroll
        for (int g = 0; g < C; ++g) {
          const T z = layer.value(x, g);
          if (!op.relu || !(z < T{0})) sum[g] += value * z;  // keeps NaN
        }
      });
#pragma unroll
      for (int g = 0; g < C; ++g) sums[lane() * lane_stride<C> + g] = sum[g];
      __syncwarp();
      const int rows = static_cast<int>(min(static_cast<std::int64_t>(teams.warp_rows()), range.end - first));
      write_rows<C>(op, sums, whole ? share.row : first, whole ? 1 : rows, share.stride, column, y);
      __syncwarp();
    });
  }
}

template <int F, int C, class T>
__global__ void __launch_bounds__(threads, sizeof(T) == 8 ? 1 : resident<C, T>)
    multiply_rows(OfDense<T> op, WarpTeams teams, T* y) {
  if (teams.tile() >= teams.tiles) return;
  T* const sums = dynamic_shared<T>() + warp() * warp_lanes * lane_stride<C>;
  for_parts(op, teams, [&](std::int64_t part) { multiply_part<F, C>(op, teams, part, sums, y); });
}

template <int F, int C, class T>
void multiply(const SpmmOfDense& op, const KernelContext& context) {
  const WarpTeams teams = warp_teams(op.y.columns(), C, op.a.rows, op.a.nonzeros);
  const StepParts steps = parts_of(op, teams, most_blocks, 0);
  const std::size_t shared = static_cast<std::size_t>(teams.threads() * lane_stride<C>) * sizeof(T);
  const std::int64_t blocks = steps.steps * steps.parts * teams.groups;
  launch(context, blocks, teams.threads(), shared, multiply_rows<F, C, T>, of_dense<T, F>(op, steps), teams,
         op.y.data<T>());
}

void run(const SpmmOfDense& op, KernelContext& context) {
  const bool wide = op.y.columns() > 12 && op.y.type() == ElementType::f32;  // more than two tiles of six
  if (op.x.columns() > 2) {
    with_element(op.y.type(), [&](auto zero) { multiply<4, 4, decltype(zero)>(op, context); });
  } else if (wide) {
    multiply<2, 18, float>(op, context);
  } else {
    with_element(op.y.type(), [&](auto zero) { multiply<2, 6, decltype(zero)>(op, context); });
  }
}

bool supports(const SpmmOfDense& op) {
  return op.x.columns() >= 1 && op.x.columns() <= SpmmOfDense::most_features && op.y.columns() >= 1;
}

const RegisterKernel<SpmmOfDense> rows{"cuda", {"rows", 10, supports, run}};

}  // namespace spmm_of_dense_rows_kernels
}  // namespace strobe::cuda
