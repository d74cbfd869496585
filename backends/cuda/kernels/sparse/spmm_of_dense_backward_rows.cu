// Gradients of the sparse product of a dense layer's output with the layer's weights in registers
// (spmm_of_dense_lanes.hpp), without a transposed product: over its share of a row's entries a lane sums a_rc x_c and
// a_rc where a column of the layer lives, and adds these sums times dy_r to its own sums, which stay in registers for
// 32 rounds of rows; then the warp adds its lanes' in double. Blocks leave the sums of their rows in double, which
// a second launch adds in order of parts.
// Compulsory bytes: the matrix, x and dy once. Beyond them F values of x per entry, from the first level cache, and the
// matrix once more from there for every further 6 columns (4 for three features or more). Instructions: 2 F + 2 per
// entry and column, 16 per entry and tile; scratch: (F + 1) G doubles per part. Launches: 2, or 3.
#include "backends/cuda/kernels/sparse/spmm_of_dense_lanes.hpp"

namespace strobe::cuda {
namespace spmm_of_dense_backward_rows_kernels {

constexpr int threads = 256, rounds_in_registers = 32;
constexpr int resident = 2;  // blocks that a multiprocessor holds, of 128 registers a thread
constexpr std::int64_t most_blocks = 1024;

/// A lane's sums for C columns: those of w's rows, then the bias's; the warp's lane i holds the total of sum i.
template <class T, int F, int C>
struct ColumnSums {
  static constexpr int count = (F + 1) * C;
  static_assert(count <= warp_lanes, "a lane for each total");
  T sum[F + 1][C] = {};
  double total = 0;

  /// Adds what the lane's share of a row gives, `dy` being the row's.
  __device__ void add_share(const OfDense<T>& op, const LayerColumns<T, F, C>& layer, const RowShare& share,
                            const T (&dy)[C]) {
    T of_row[F + 1][C] = {};
    for_entries<F>(op, share, [&](T value, const T(&x)[F]) {
      T scaled[F];
#pragma unroll
      for (int f = 0; f < F; ++f) scaled[f] = value * x[f];
#pragma unroll
      for (int g = 0; g < C; ++g) {
        if (op.relu && !(layer.value(x, g) > T{0})) continue;
#pragma unroll
        for (int f = 0; f < F; ++f) of_row[f][g] += scaled[f];
        of_row[F][g] += value;
      }
    });
#pragma unroll
    for (int i = 0; i < count; ++i) sum[i / C][i % C] += of_row[i / C][i % C] * dy[i % C];
  }

  /// Moves the lanes' sums to the totals. Every lane calls it.
  __device__ void add_to_totals() {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const double of_warp = warp_sum(static_cast<double>(sum[i / C][i % C]));
      if (lane() == i) total += of_warp;
      sum[i / C][i % C] = T{0};
    }
  }
};

/// The block's sums [(F + 1) G] of its tiles: those of a tile's warps in order.
template <int F, int C, class T>
__device__ void write_block_sums(const OfDense<T>& op, const WarpTeams& teams, const double* totals, double* sums) {
  const int own = lane(), tile = teams.tile(), column = tile * C + own % C, feature = own / C;
  if (teams.row_warp() != 0 || own >= (F + 1) * C || column >= op.width) return;
  if (feature >= op.inner && feature != F) return;
  double sum = 0;
  for (int w = 0; w < teams.row_warps; ++w) sum += totals[(w * teams.tile_warps + warp()) * warp_lanes + own];
  sums[min(feature, op.inner) * op.width + column] = sum;
}

/// The sums of one part's rows.
template <int F, int C, class T>
__device__ ColumnSums<T, F, C> sums_of_part(const OfDense<T>& op, const WarpTeams& teams, std::int64_t part,
                                            const T* dy) {
  const int column = teams.tile() * C;
  const RowRange range = rows_of_part(op, part);
  const LayerColumns<T, F, C> layer(op, part / op.steps.parts, column);
  ColumnSums<T, F, C> own;
  int rounds = 0;  // since the last addition to the totals
  const std::int64_t begin = range.begin + teams.row_warp() * teams.warp_rows();
  for (std::int64_t first = begin; first < range.end && column < op.width; first += teams.block_rows()) {
    for_shares(op, teams, first, range.end, [&](const RowShare& share, bool) {
      T of_row[C];
#pragma unroll
      for (int g = 0; g < C; ++g) {
        const bool there = share.begin < share.end && column + g < op.width;
        of_row[g] = there ? dy[share.row * op.width + column + g] : T{0};
      }
      own.add_share(op, layer, share, of_row);
    });
    const bool is_last = first + teams.block_rows() >= range.end;
    if (++rounds % rounds_in_registers == 0 || is_last) own.add_to_totals();
  }
  return own;
}

/// sums [parts, (F + 1) G]
template <int F, int C, class T>
__global__ void __launch_bounds__(threads) gradient_rows(OfDense<T> op, WarpTeams teams, const T* dy, double* sums) {
  STROBE_SHARED(double[threads], totals);
  for_parts(op, teams, [&](int part) {
    totals[threadIdx.x] = sums_of_part<F, C>(op, teams, part, dy).total;
    __syncthreads();
    write_block_sums<F, C>(op, teams, totals, sums + part * (op.inner + 1) * op.width);
    __syncthreads();
  });
}

/// Adds up the parts: a step's for dw, all for dbias.
template <class T>
void add_sums(const SpmmOfDenseBackward& op, const StepParts& steps, const double* sums, const KernelContext& context) {
  const std::int64_t weights = op.x.columns() * op.dy.columns(), stride = weights + op.dy.columns();
  const std::int64_t parts = steps.steps * steps.parts;
  const bool by_step = op.step_rows.defined(), together = !by_step && op.accumulate_dw;
  if (by_step) {
    launch(context, blocks_for(op.dw.elements(), threads), threads, 0, add_step_parts<T>, op.dw.data<T>(), steps,
           weights, stride, sums, op.accumulate_dw);
  } else if (!together) {
    add_parts(context, sums, parts, stride,
              SumTargets<T>{{op.dw.data<T>(), nullptr, nullptr}, {weights, weights, weights}, false});
  }
  if (together || op.dbias.defined()) {
    add_part_sums<T>(context, together ? op.dw : Tensor(), weights, op.dbias, sums, parts, stride);
  }
}

template <int F, int C, class T>
void differentiate(const SpmmOfDenseBackward& op, const KernelContext& context) {
  const std::int64_t stride = (op.x.columns() + 1) * op.dy.columns();
  const WarpTeams teams = warp_teams(op.dy.columns(), C, op.a.rows, op.a.nonzeros);
  const StepParts steps = parts_of(op, teams, most_blocks, stride);
  const std::int64_t parts = steps.steps * steps.parts;
  if (parts == 0) return;
  double* const sums = part_sums_memory(context, parts, stride);
  launch(context, parts * teams.groups, teams.threads(), 0, gradient_rows<F, C, T>, of_dense<T, F>(op, steps), teams,
         op.dy.data<T>(), sums);
  add_sums<T>(op, steps, sums, context);
}

void run(const SpmmOfDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    if (op.x.columns() > 2) {
      differentiate<4, 4, T>(op, context);
    } else {
      differentiate<2, 6, T>(op, context);
    }
  });
}

bool supports(const SpmmOfDenseBackward& op) {
  return op.x.columns() >= 1 && op.x.columns() <= SpmmOfDense::most_features && op.dy.columns() >= 1;
}

const RegisterKernel<SpmmOfDenseBackward> rows{"cuda", {"rows", 10, supports, run}};

}  // namespace spmm_of_dense_backward_rows_kernels
}  // namespace strobe::cuda
