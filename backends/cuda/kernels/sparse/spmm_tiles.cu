// Narrow sparse products of many snapshots with the gathered columns in shared memory: a block takes a few columns of
// one snapshot's input, C values a row, and some of the snapshot's rows. A product that gathers from the second-level
// cache moves whole sectors of 32 bytes for every entry, 1.5 of them for a row of 24 bytes, and that cache is what
// bounds it; from shared memory it moves the C values that it needs. The matrix is read once per tile of columns, by
// blocks that run at the same time, so once from memory. Rows lie an odd number of values apart: entries at random
// then meet all banks.
// Compulsory bytes: matrix, input and result once. Beyond them, from the second-level cache, the matrix once more per
// further tile and the input once per part of a snapshot. Launches: 1.
#include <algorithm>

#include "backends/cuda/kernels/sparse/compressed.hpp"

namespace strobe::cuda {
namespace spmm_tiles_kernels {

constexpr int threads = 1024, row_lanes = 4, batch = 2;
constexpr int block_rows = threads / row_lanes, warp_rows = warp_lanes / row_lanes;
constexpr int most_columns = 3;  // of a tile
constexpr int long_row = 16 * row_lanes * batch;
constexpr std::int64_t fewest_entries = 4;  // a row, below which the tiles cost more than they save

/// Block (step, part, group) has columns from group * C on of the step's input, and the part's rows of the step.
struct Tiles {
  const std::int64_t* step_rows;  // null: one step
  std::int64_t rows;
  int width, groups, parts, room;  // rows of a tile; a step with more reads its input from memory
};

/// The part that a block multiplies.
struct Share {
  std::int64_t base, begin, end;  // the step's first row, and the part's rows
  int step_rows, column, columns;

  __device__ Share(const Tiles& tiles, int most) {
    const std::int64_t item = blockIdx.x, step = item / tiles.groups / tiles.parts;
    const std::int64_t part = item / tiles.groups % tiles.parts;
    base = tiles.step_rows == nullptr ? 0 : tiles.step_rows[step];
    const std::int64_t last = tiles.step_rows == nullptr ? tiles.rows : tiles.step_rows[step + 1], n = last - base;
    begin = base + n * part / tiles.parts;
    end = base + n * (part + 1) / tiles.parts;
    step_rows = static_cast<int>(n);
    column = static_cast<int>(item % tiles.groups) * most;
    columns = min(most, tiles.width - column);
  }
};

/// Rows of the input in a tile, or in memory: value(place(index), c) is column c of the block's.
template <class T, int C>
struct InTile {
  static constexpr int apart = C | 1;
  const T* tile;
  std::int32_t base;

  __device__ std::int32_t place(std::int32_t index) const { return (index - base) * apart; }
  __device__ std::int32_t none() const { return 0; }
  __device__ T value(std::int32_t at, int c) const { return tile[at + c]; }
};
template <class T, int C>
struct InMemory {
  const T* x;  // the block's first column
  int width, columns;

  __device__ std::int64_t place(std::int32_t index) const { return static_cast<std::int64_t>(index) * width; }
  __device__ std::int64_t none() const { return 0; }
  __device__ T value(std::int64_t at, int c) const { return x[at + (c < columns ? c : 0)]; }
};

/// sum += the entries from + first, from + first + stride, ... of `count` of them; in batches whose loads are under way
/// at once. Entries that a batch has beyond the last are 0 times a value that is not added.
template <int C, class T, class Input>
__device__ void add_entries(const Compressed<T>& a, const Input& input, std::int64_t from, int first, int count,
                            int stride, T (&sum)[C]) {
  const std::int32_t* const indices = a.indices + from;
  const T* const values = a.values + from;
  for (int k = first; k < count; k += stride * batch) {
    decltype(input.none()) at[batch];
    T value[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      const bool there = k + j * stride < count;
      at[j] = there ? input.place(indices[k + j * stride]) : input.none();
      value[j] = there ? values[k + j * stride] : T{0};
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      if (k + j * stride >= count) continue;  // 0 times infinity is not 0
#pragma unroll
      for (int c = 0; c < C; ++c) sum[c] += value[j] * input.value(at[j], c);
    }
  }
}

template <int C, class T>
__device__ void add_lanes(T (&sum)[C], int lanes) {
  for (int distance = 1; distance < lanes; distance *= 2) {
#pragma unroll
    for (int c = 0; c < C; ++c) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], distance);
  }
}

/// Replaces the sums of the lanes whose row is long by the whole warp's; every lane calls it.
template <int C, class T, class Input>
__device__ void add_long_rows(const Compressed<T>& a, const Input& input, std::int64_t from, int count, T (&sum)[C]) {
  unsigned left = __ballot_sync(0xffffffffu, count > long_row);
  while (left != 0) {
    const int owner = __ffs(static_cast<int>(left)) - 1, group = owner / row_lanes;
    T whole[C] = {};
    add_entries<C>(a, input, __shfl_sync(0xffffffffu, from, owner), lane(), __shfl_sync(0xffffffffu, count, owner),
                   warp_lanes, whole);
    add_lanes<C>(whole, warp_lanes);
    if (lane() / row_lanes == group) {
#pragma unroll
      for (int c = 0; c < C; ++c) sum[c] = whole[c];
    }
    left &= ~(((1u << row_lanes) - 1) << (group * row_lanes));
  }
}

/// The entries of a row that comes next, asked for a round ahead.
struct Ahead {
  std::int64_t begin = 0, end = 0;

  template <class T>
  __device__ void ask(const Compressed<T>& a, std::int64_t row, std::int64_t last) {
    begin = row < last ? a.offsets[row] : 0;
    end = row < last ? a.offsets[row + 1] : 0;
  }
};

template <int C, class T, class Input>
__device__ void multiply_rows(const Compressed<T>& a, const Input& input, const Share& share, int width, T* y,
                              bool accumulate) {
  const int own = lane() % row_lanes;
  std::int64_t row = share.begin + threadIdx.x / row_lanes;
  Ahead ahead;
  ahead.ask(a, row, share.end);
  for (std::int64_t first = share.begin + warp() * warp_rows; first < share.end; first += block_rows) {
    const std::int64_t from = ahead.begin, current = row;
    const int count = static_cast<int>(ahead.end - ahead.begin);
    row += block_rows;
    ahead.ask(a, row, share.end);
    T sum[C] = {};
    add_entries<C>(a, input, from, own, count > long_row ? 0 : count, row_lanes, sum);
    add_lanes<C>(sum, row_lanes);
    add_long_rows<C>(a, input, from, count, sum);
    T result = sum[0];
#pragma unroll
    for (int c = 1; c < C; ++c) result = own == c ? sum[c] : result;
    if (own >= share.columns || current >= share.end) continue;
    T& to = y[current * width + share.column + own];
    to = accumulate ? to + result : result;
  }
}

template <class T, int C>
__global__ void __launch_bounds__(threads, 1)
    multiply_tile(Compressed<T> a, const T* x, T* y, Tiles tiles, bool accumulate) {
  const Share share(tiles, C);
  T* const tile = dynamic_shared<T>();
  const T* const from = x + share.column;
  if (share.step_rows > tiles.room) {
    return multiply_rows<C>(a, InMemory<T, C>{from, tiles.width, share.columns}, share, tiles.width, y, accumulate);
  }
  for (int i = static_cast<int>(threadIdx.x); i < share.step_rows * C; i += threads) {
    const int row = i / C, c = i % C;
    const bool there = c < share.columns;
    tile[row * InTile<T, C>::apart + c] = there ? from[(share.base + row) * tiles.width + c] : T{0};
  }
  __syncthreads();
  multiply_rows<C>(a, InTile<T, C>{tile, static_cast<std::int32_t>(share.base)}, share, tiles.width, y, accumulate);
}

/// Whether columns of the rows of a step are those rows: then steps read nothing of each other's.
bool steps_apart(const SparseMatrix& a) {
  return a.steps > 0 && a.rows == a.columns && a.halo_begin == a.rows && (a.steps == 1 || a.step_rows.defined());
}

template <class T>
std::int64_t room_of(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes / (InTile<T, most_columns>::apart * sizeof(T)));
}

/// Rounds in which `multiprocessors` take the tiles, in parts of a step, each with what it costs to fill its tile.
double rounds_of(const SparseMatrix& a, std::int64_t groups, std::int64_t parts, int multiprocessors) {
  const double filling = 0.5 * static_cast<double>(a.rows) / static_cast<double>(a.nonzeros);
  const std::int64_t rounds = (a.steps * groups * parts + multiprocessors - 1) / multiprocessors;
  return static_cast<double>(rounds) * (1.0 / static_cast<double>(parts) + filling);
}

/// The number of parts of a step with which the tiles take the fewest rounds.
std::int64_t best_parts(const SparseMatrix& a, std::int64_t groups, int multiprocessors) {
  constexpr std::int64_t most_parts = 8;
  std::int64_t best = 1;
  for (std::int64_t parts = 2; parts <= most_parts; ++parts) {
    if (rounds_of(a, groups, parts, multiprocessors) < 0.98 * rounds_of(a, groups, best, multiprocessors)) best = parts;
  }
  return best;
}

std::int64_t groups_of(std::int64_t width) { return (width + most_columns - 1) / most_columns; }

/// Whether tiles take less time than gathering rows of sectors (spmm_rows.cu). On an H100 a tile's round takes 0.54 ns
/// an entry of the step, a gathered entry 0.18 ps a byte.
bool is_worth(const SparseMatrix& a, std::int64_t width, std::size_t element) {
  if (a.nonzeros < fewest_entries * a.rows) return false;
  const runtime::LaunchLimits limits = runtime::launch_limits();
  const std::int64_t room = element == 4 ? room_of<float>(limits.shared_bytes) : room_of<double>(limits.shared_bytes);
  if (a.rows > room * a.steps) return false;
  constexpr std::int64_t sector = 32;
  const std::int64_t groups = groups_of(width), bytes = width * static_cast<std::int64_t>(element);
  const std::int64_t touched =
      (bytes % sector == 0 ? bytes : bytes + sector - 8) + static_cast<std::int64_t>(element) + 4;
  const double tiles =
      0.54 * rounds_of(a, groups, best_parts(a, groups, limits.multiprocessors), limits.multiprocessors);
  return tiles < 0.18e-3 * static_cast<double>(touched * a.steps);
}

template <class T>
void multiply(const Compressed<T>& a, const SparseMatrix& matrix, const T* x, T* y, std::int64_t width, bool accumulate,
              const KernelContext& context) {
  if (matrix.rows == 0) return;
  const runtime::LaunchLimits limits = runtime::launch_limits();
  const std::int64_t groups = groups_of(width);
  const std::int64_t parts = matrix.nonzeros == 0 ? 1 : best_parts(matrix, groups, limits.multiprocessors);
  const std::int64_t* const step_rows = matrix.steps > 1 ? matrix.step_rows.data<std::int64_t>() : nullptr;
  const Tiles tiles{step_rows,
                    matrix.rows,
                    static_cast<int>(width),
                    static_cast<int>(groups),
                    static_cast<int>(parts),
                    static_cast<int>(room_of<T>(limits.shared_bytes))};
  const auto kernel = multiply_tile<T, most_columns>;
  runtime::allow_shared(reinterpret_cast<const void*>(kernel), limits.shared_bytes);
  launch(context, matrix.steps * groups * parts, threads, limits.shared_bytes, kernel, a, x, y, tiles, accumulate);
}

bool supports_spmm(const Spmm& op) { return steps_apart(op.a) && op.y.columns() >= 1; }
bool supports_transposed(const SpmmTransposed& op) {
  return steps_apart(op.a) && op.a.transposed_offsets.defined() && op.x.columns() >= 1;
}
bool worth_spmm(const Spmm& op) { return is_worth(op.a, op.y.columns(), element_bytes(op.y.type())); }
bool worth_transposed(const SpmmTransposed& op) { return is_worth(op.a, op.x.columns(), element_bytes(op.x.type())); }

void run_spmm(const Spmm& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply(compressed<T>(op.a), op.a, op.x.data<T>(), op.y.data<T>(), op.y.columns(), op.accumulate, context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    multiply(compressed_transpose<T>(op.a), op.a, op.y.data<T>(), op.x.data<T>(), op.x.columns(), op.accumulate,
             context);
  });
}

const RegisterKernel<Spmm> tiles{"cuda", {"tiles", 20, supports_spmm, run_spmm, worth_spmm}};
const RegisterKernel<SpmmTransposed> tiles_transposed{
    "cuda", {"tiles", 20, supports_transposed, run_spmm_transposed, worth_transposed}};

}  // namespace spmm_tiles_kernels
}  // namespace strobe::cuda
