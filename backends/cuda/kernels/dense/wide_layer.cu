// Dense layers of wide matrices and their gradients as products of tiles (wide_product.hpp). Forward y = x w: blocks of
// 128 threads make 128 x 64 values of y; where those would leave a GPU idle, blocks of 256 threads 64 x 64 values each.
// Backward, all in one launch: blocks for dw = x^T dz over ranges of rows (with the column sums of dz, taken on its way
// to shared memory), whose partial sums a second launch adds in order, and blocks for dx = dz w^T. Terms are added up
// in the element type over 128 rows at most, then in double. Ranges depend on shapes only. Cost: x read once per 64
// columns of y, dz once per 64 columns of x for each of dx and dw; 8 (F + 1) G bytes of partial sums per range; there
// are at most as many ranges as fill a GPU once. For 131072 rows, 64 columns both ways and a relu: 67 MB and 1.07 GFLOP
// forward, 201 MB, 2.15 GFLOP and 13 MB of partial sums written and read backward. In fp32 large tiles take 168
// registers, three blocks (twelve warps) a multiprocessor, and 17 KiB of shared memory; small ones one block of eight
// warps and 33 KiB.
#include "backends/cuda/kernels/dense/wide_ranges.hpp"

namespace strobe::cuda {
namespace wide_layer_kernels {

/// Blocks of small and of large tiles that run at the same time on a large GPU, which is what ranges are made for.
constexpr std::int64_t full_small_grid = 132, full_grid = 3 * full_small_grid;
/// Fewer large tiles leave it too empty.
constexpr std::int64_t few_tiles = 160;
/// Rows whose terms are added in the element type, for each group; and the shortest range of rows.
constexpr std::int64_t rows_per_sum = 128, least_rows = 64;

/// How blocks work on tiles: small ones are four groups on one, large ones two groups on one or two.
template <class T>
struct SmallTiles {
  using Rows = WideSlice<T, 4, true>;
  using Sums = WideSlice<T, 4, true>;
  static constexpr int blocks = 1;  // a multiprocessor, at least
};
template <class T>
struct LargeTiles {
  using Rows = WideSlice<T, 2, false>;
  using Sums = WideSlice<T, 2, true>;
  static constexpr int blocks = sizeof(T) == 8 ? 2 : 3;
};

/// The parts that columns of x belong to, of as many columns as a list in shared memory is worth.
using PartNumber = unsigned char;
constexpr int most_listed = 1024;

/// Fills the list where there is a choice; null where there is none, or too many columns. Every thread must call it.
template <class T>
__device__ const PartNumber* list_parts(const WideLayer<T>& p, PartNumber (&list)[most_listed]) {
  if (p.x.count == 1 || p.inner > most_listed) return nullptr;
  for (int c = static_cast<int>(threadIdx.x); c < p.inner; c += static_cast<int>(blockDim.x)) {
    list[c] = static_cast<PartNumber>(p.x.holding(c));
  }
  __syncthreads();
  return list;
}
template <class T>
__device__ int holding(const WideParts<T>& parts, const PartNumber* list, int column) {
  return list != nullptr ? list[column] : parts.holding(column);
}

/// Columns of a column block of x.
template <class T>
struct WideInputs {
  using Value = T;
  static constexpr bool masked = false;
  const WideParts<T>& parts;
  std::int64_t first;  // of the column block
  const PartNumber* list;
  __device__ WideColumn<T> column(int c) const {
    const int p = holding(parts, list, c);
    return {parts.part[p] + first + c - parts.begin[p], nullptr, parts.apart[p]};
  }
};

template <class T>
__device__ WideInputs<T> inputs_of(const WideLayer<T>& p, std::int64_t batch, const PartNumber* list) {
  return {p.x, p.block(batch) * p.inner, list};
}
template <class T>
__device__ WideMatrix<T> weights_of(const WideLayer<T>& p, std::int64_t batch) {
  return {p.w + batch * p.weights(), p.width};
}
template <class T>
__device__ WideGradient<T> gradient_of(const WideLayer<T>& p, std::int64_t batch) {
  const std::int64_t first = p.skip + p.block(batch) * p.width;
  return {p.dy + first, p.live == nullptr ? p.live : p.live + first, p.y_apart};
}

/// to[0, count) (+)= values.
template <class T>
__device__ void put_four(T* to, T (&values)[4], int count, bool vector, bool accumulate) {
  if (vector) {
    T old[4] = {};
    if (accumulate) load_four(to, old);
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] += old[j];
    store_wide_four(to, values);
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (j < count) to[j] = accumulate ? to[j] + values[j] : values[j];
  }
}

/// Calls body(row, column, count, values) for the block's tile of C four values at a time, as far as they lie within
/// the rows before `end` and `columns` columns: through shared memory, so that every thread takes part and neighbours
/// take neighbours. Every thread must call it.
template <class Slice, class T, class Body>
__device__ void each_four(const WidePiece<T>& sum, T* memory, std::int64_t top, std::int64_t end, int left, int columns,
                          const Body& body) {
  for (int group = 0; group < (Slice::split ? 1 : Slice::groups); ++group) {
    put_wide_tile<Slice>(sum, group, memory);
    const int column = static_cast<int>(threadIdx.x) % 16 * 4;
#pragma unroll 2
    for (int row = static_cast<int>(threadIdx.x) / 16; row < wide_tile; row += Slice::threads / 16) {
      const std::int64_t r = top + group * wide_tile + row;
      if (r >= end || left + column >= columns) break;
      T values[4];
      load_four(memory + row * wide_tile + column, values);
      body(r, left + column, columns - left - column, values);
    }
    __syncthreads();
  }
}

/// The same straight from registers, where no sums have to meet: a fourth of the threads writes to each row.
template <class Slice, class T, class Body>
__device__ void each_own_four(const WidePiece<T>& sum, std::int64_t top, std::int64_t end, int left, int columns,
                              const Body& body) {
  const WidePlace<Slice> place;
#pragma unroll
  for (int i = 0; i < wide_piece; ++i) {
#pragma unroll
    for (int j = 0; j < wide_piece; j += 4) {
      const std::int64_t row = top + place.row(i);
      const int column = left + place.column(j);
      T values[4] = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
      if (row < end && column < columns) body(row, column, columns - column, values);
    }
  }
}

template <class Slice, class T>
__device__ void forward_tiles(const WideLayer<T>& p, const WideBlock& block, const PartNumber* list, T* memory) {
  const int left = static_cast<int>(block.tile) * wide_tile;
  const std::int64_t first = p.block(block.batch) * p.width;
  const T* const bias = p.bias == nullptr ? p.bias : p.bias + first;
  for (std::int64_t top = block.begin; top < block.end; top += Slice::rows) {
    WideOperand<Slice, true, Slice::rows, WideInputs<T>> x{
        inputs_of(p, block.batch, list), top, block.end, p.vector, {}, {}};
    WideOperand<Slice, false, wide_tile, WideMatrix<T>> w{weights_of(p, block.batch), left, p.width, p.vector, {}, {}};
    WidePiece<T> sum = {};
    multiply_wide<Slice, true, false>(x, w, 0, p.inner, memory, sum, [](const auto&) {});
    const auto put = [&](std::int64_t r, int g, int count, T(&values)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (bias != nullptr && j < count) values[j] += bias[g + j];
        values[j] = activated(values[j], p.relu);
      }
      put_four(p.out + r * p.y_apart + p.skip + first + g, values, count, p.vector, false);
    };
    if constexpr (Slice::split) {
      each_four<Slice>(sum, memory, top, block.end, left, p.width, put);
    } else {
      each_own_four<Slice>(sum, top, block.end, left, p.width, put);
    }
  }
}

/// The columns that are passed through, of the block's rows.
template <class T>
__device__ void pass_left(const WideLayer<T>& p, const WideBlock& block) {
  const int skip = static_cast<int>(p.skip), step = p.vector ? 4 : 1, chunks = skip / step;
  for (TileWalk at(chunks); block.begin + at.row < block.end; at.next()) {
    const std::int64_t row = block.begin + at.row;
    const T* const from = p.left + row * skip + at.column * step;
    T* const to = p.out + row * p.y_apart + at.column * step;
    T values[4] = {from[0], T{0}, T{0}, T{0}};
    if (p.vector) load_four(from, values);
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] = activated(values[j], p.relu);
    put_four(to, values, 1, p.vector, false);
  }
}

template <class T, class Tiles>
__global__ void __launch_bounds__(Tiles::Rows::threads, Tiles::blocks) wide_forward(WideLayer<T> p, WideRanges ranges) {
  using Memory = WideMemory<T, Tiles::Rows::groups>;
  STROBE_SHARED(Memory, memory);
  STROBE_SHARED(PartNumber[most_listed], list);
  const WideBlock block(ranges, (p.width + wide_tile - 1) / wide_tile, blockIdx.x);
  forward_tiles<typename Tiles::Rows>(p, block, list_parts(p, list), memory.values);
  if (p.left != nullptr && block.tile == 0 && block.batch == 0) pass_left(p, block);
}

/// Gives dx of column f of a column block that begins at `first` (of four columns where p.vector) to the part that
/// holds it.
template <class T>
__device__ void put_input(const WideLayer<T>& p, const PartNumber* list, std::int64_t row, std::int64_t first, int f,
                          T (&values)[4]) {
  const int part = holding(p.x, list, f);
  if (p.x.gradient[part] == nullptr) return;
  T* const to = p.x.gradient[part] + row * p.x.apart[part] + first + f - p.x.begin[part];
  put_four(to, values, 1, p.vector, p.x.accumulate[part]);
}

/// dx of the block's rows and columns.
template <class Slice, class T>
__device__ void input_tiles(const WideLayer<T>& p, const WideBlock& block, const PartNumber* list, T* memory) {
  const int left = static_cast<int>(block.tile) * wide_tile;
  const std::int64_t first = p.block(block.batch) * p.inner;
  for (std::int64_t top = block.begin; top < block.end; top += Slice::rows) {
    WideOperand<Slice, true, Slice::rows, WideGradient<T>> dz{
        gradient_of(p, block.batch), top, block.end, p.vector, {}, {}};
    WideOperand<Slice, true, wide_tile, WideMatrix<T>> w{weights_of(p, block.batch), left, p.inner, p.vector, {}, {}};
    WidePiece<T> sum = {};
    multiply_wide<Slice, true, true>(dz, w, 0, p.width, memory, sum, [](const auto&) {});
    each_four<Slice>(sum, memory, top, block.end, left, p.inner, [&](std::int64_t r, int f, int count, T(&values)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (p.add_left && j < count) values[j] += through_activation(p.live, p.dy, r * p.y_apart + first + f + j);
      }
      if (p.vector) return put_input(p, list, r, first, f, values);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        T one[4] = {values[j], T{0}, T{0}, T{0}};
        if (j < count) put_input(p, list, r, first, f + j, one);
      }
    });
  }
}

/// Adds the column sums that the block's threads hold, four columns each, in order of threads.
template <int threads>
__device__ void put_column_sums(const double (&own)[4], double* shared, int left, int columns, double* sums) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int j = 0; j < 4; ++j) shared[thread * 4 + j] = own[j];
  __syncthreads();
  if (thread < wide_tile && left + thread < columns) {
    double sum = 0;
    for (int row = 0; row < threads * 4 / wide_tile; ++row) sum += shared[row * wide_tile + thread];
    sums[left + thread] = sum;
  }
}

/// Partial sums of dw of the block's tile over its rows; sums [F, G] and of_bias [G] of the batch and range.
template <class Slice, class T>
__device__ void weight_tile(const WideLayer<T>& p, const WideBlock& block, const PartNumber* list, T* memory,
                            double* sums, double* of_bias) {
  const int across = (p.width + wide_tile - 1) / wide_tile, top = static_cast<int>(block.tile) / across * wide_tile,
            left = static_cast<int>(block.tile) % across * wide_tile;
  const bool counts = of_bias != nullptr && top == 0;
  double columns[4] = {};
  std::int64_t row = block.begin;
  do {
    const std::int64_t last = row + rows_per_sum * Slice::groups, end = last < block.end ? last : block.end;
    WideOperand<Slice, false, wide_tile, WideInputs<T>> x{
        inputs_of(p, block.batch, list), top, p.inner, p.vector, {}, {}};
    WideOperand<Slice, false, wide_tile, WideGradient<T>> dz{
        gradient_of(p, block.batch), left, p.width, p.vector, {}, {}};
    WidePiece<T> sum = {};
    multiply_wide<Slice, false, false>(x, dz, row, end, memory, sum, [&](const auto& operand) {
      if (!counts) return;
      for (const auto& four : operand.values) {
#pragma unroll
        for (int j = 0; j < 4; ++j) columns[j] += static_cast<double>(four[j]);
      }
    });
    const bool add = row > block.begin;
    each_four<Slice>(sum, memory, top, p.inner, left, p.width, [&](std::int64_t f, int g, int count, T(&values)[4]) {
      double* const to = sums + f * p.width + g;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (j < count) to[j] = (add ? to[j] : 0.0) + static_cast<double>(values[j]);
      }
    });
    row = end;
  } while (row < block.end);
  if (counts) put_column_sums<Slice::threads>(columns, reinterpret_cast<double*>(memory), left, p.width, of_bias);
}

/// Division of the backward launch: first the blocks for dw, whose ranges leave sums `stride` apart (with steps, each
/// step's; with column blocks, all of a range together), then those for dx.
struct WideWork {
  WideRanges weights, inputs;
  std::int64_t weight_blocks, weight_tiles, stride;
  double* sums;
  bool bias;
};

template <class T, class Tiles>
__global__ void __launch_bounds__(Tiles::Rows::threads, Tiles::blocks) wide_backward(WideLayer<T> p, WideWork work) {
  using Memory = WideMemory<T, Tiles::Rows::groups>;
  STROBE_SHARED(Memory, memory);
  STROBE_SHARED(PartNumber[most_listed], list);
  if (blockIdx.x >= work.weight_blocks) {
    const WideBlock block(work.inputs, (p.inner + wide_tile - 1) / wide_tile, blockIdx.x - work.weight_blocks);
    input_tiles<typename Tiles::Rows>(p, block, list_parts(p, list), memory.values);
    return;
  }
  const WideBlock block(work.weights, work.weight_tiles, blockIdx.x);
  const std::int64_t of_rows = p.block(block.batch);
  const std::int64_t range = p.step_rows == nullptr ? block.part : block.batch * work.weights.parts() + block.part;
  double* const sums = work.sums + range * work.stride;
  double* const of_bias = sums + p.batches * p.weights() + of_rows * p.width;
  weight_tile<typename Tiles::Sums>(p, block, list_parts(p, list), memory.values, sums + of_rows * p.weights(),
                                    work.bias ? of_bias : nullptr);
}

template <class T>
std::int64_t rows_per_batch(const WideLayer<T>& p) {
  return p.step_rows == nullptr || p.batches == 0 ? p.rows : divide_up(p.rows, p.batches);
}

/// Whether large tiles would leave a GPU empty, for a result of `columns` columns.
template <class T>
bool wants_small(const WideLayer<T>& p, std::int64_t columns) {
  return divide_up(rows_per_batch(p), LargeTiles<T>::Rows::rows) * divide_up(columns, wide_tile) * p.batches <
         few_tiles;
}

template <class Tiles, class T>
void forward_as(const WideLayer<T>& p, const KernelContext& context) {
  const WideRanges ranges = ranges_of(p, Tiles::Rows::rows);
  launch(context, ranges.parts() * p.batches * divide_up(p.width, wide_tile), Tiles::Rows::threads, 0,
         wide_forward<T, Tiles>, p, ranges);
}

template <class T>
void forward(const WideLayer<T>& p, const KernelContext& context) {
  wants_small(p, p.width) ? forward_as<SmallTiles<T>>(p, context) : forward_as<LargeTiles<T>>(p, context);
}

/// Ranges of rows for dw: about `blocks` blocks for `tiles` tiles of each batch, and not too short.
template <class T>
WideRanges weight_ranges_of(const WideLayer<T>& p, std::int64_t tiles, std::int64_t blocks) {
  constexpr std::int64_t unit = 32;
  const std::int64_t parts = blocks / (tiles * (p.batches > 0 ? p.batches : 1));
  const std::int64_t grain = divide_up(divide_up(rows_per_batch(p), parts < 1 ? 1 : parts), unit) * unit;
  return ranges_of(p, grain < least_rows ? least_rows : grain);
}

/// Launches the gradients of weights and inputs; returns their division.
template <class Tiles, class T>
WideWork launch_backward(const WideLayer<T>& p, const WideSums& to, bool wants_inputs, const KernelContext& context) {
  constexpr bool small = Tiles::Rows::split;
  WideWork work{};
  work.weight_tiles = divide_up(p.inner, wide_tile) * divide_up(p.width, wide_tile);
  work.weights = weight_ranges_of(p, work.weight_tiles,
                                  small          ? full_small_grid
                                  : wants_inputs ? full_grid / 2  // the others are for dx
                                                 : full_grid);
  const bool steps = p.step_rows != nullptr, wants_weights = to.dw.defined() || to.dbias.defined();
  work.weight_blocks = wants_weights ? work.weights.parts() * p.batches * work.weight_tiles : 0;
  work.bias = to.dbias.defined();
  work.stride = steps ? p.weights() : p.batches * (p.weights() + p.width);
  if (work.weight_blocks > 0) {
    work.sums = part_sums_memory(context, work.weights.parts() * (steps ? p.batches : 1), work.stride);
  }
  work.inputs = ranges_of(p, Tiles::Rows::rows);
  const std::int64_t input_blocks = wants_inputs ? work.inputs.parts() * p.batches * divide_up(p.inner, wide_tile) : 0;
  launch(context, work.weight_blocks + input_blocks, Tiles::Rows::threads, 0, wide_backward<T, Tiles>, p, work);
  return work;
}

template <class T>
void backward(const WideLayer<T>& p, const WideSums& to, const KernelContext& context) {
  bool inputs = false;
  for (int part = 0; part < p.x.count; ++part) inputs = inputs || p.x.gradient[part] != nullptr;
  const WideWork work = wants_small(p, p.inner) ? launch_backward<SmallTiles<T>>(p, to, inputs, context)
                                                : launch_backward<LargeTiles<T>>(p, to, inputs, context);
  if (work.weight_blocks == 0) return;
  if (p.step_rows == nullptr) {
    add_part_sums<T>(context, to.dw, p.batches * p.weights(), to.dbias, work.sums, work.weights.parts(), work.stride);
    return;
  }
  constexpr int threads = 256;
  launch(context, blocks_for(p.batches * p.weights(), threads), threads, 0, add_step_parts<T>, to.dw.data<T>(),
         work.weights.steps, p.weights(), work.stride, work.sums, to.accumulate);
}

}  // namespace wide_layer_kernels

void run_wide_forward(const WideLayer<float>& layer, const KernelContext& context) {
  wide_layer_kernels::forward(layer, context);
}
void run_wide_forward(const WideLayer<double>& layer, const KernelContext& context) {
  wide_layer_kernels::forward(layer, context);
}
void run_wide_backward(const WideLayer<float>& layer, const WideSums& sums, const KernelContext& context) {
  wide_layer_kernels::backward(layer, sums, context);
}
void run_wide_backward(const WideLayer<double>& layer, const WideSums& sums, const KernelContext& context) {
  wide_layer_kernels::backward(layer, sums, context);
}

}  // namespace strobe::cuda
