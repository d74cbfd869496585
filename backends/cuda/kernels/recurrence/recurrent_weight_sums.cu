// Weight gradients of the wide recurrences, as partial sums: a block has 128 rows of (x | h_{t-1}) by 64 units of one
// gate over a range of rows of both. Sums of 256 rows go over to doubles in registers. The blocks of the first 128 rows
// add up the bias as well, from the slices that lie in shared memory anyway.
// Cost: 2 (F + h) G h FLOPs a row; x and y read once per 64 columns of dz, dz once per 128 columns of x and h; 8 (F + h
// + 1) G h bytes written a range; there are as many ranges as make some 256 blocks. Shared memory: 26 KiB.
#include "backends/cuda/kernels/recurrence/recurrent_products.hpp"

namespace strobe::cuda {
namespace recurrent_weight_sums_kernels {

template <class T>
using WeightPanel = Panel<T, 8, 8, 1>;
constexpr std::int64_t tile_inputs = 128, flush_rows = 256;

/// One column of (x | x_right | h_{t-1}) over all rows: rows before `shift` lie in `before`.
template <class T>
struct Column {
  const T *values = nullptr, *before = nullptr;
  std::int64_t apart = 0, shift = 0;

  __device__ T at(std::int64_t row) const {
    if (row < shift) return before == nullptr ? T{0} : before[row * apart];
    return values == nullptr ? T{0} : values[(row - shift) * apart];
  }
};

template <class T>
__device__ Column<T> column_of(const RecurrentTerms<T>& terms, std::int64_t k, std::int64_t gate) {
  if (k < terms.left) return {terms.x + gate * terms.own + k, nullptr, terms.columns, 0};
  if (k < terms.inputs) return {terms.x_right + k - terms.left, nullptr, terms.inputs - terms.left, 0};
  const std::int64_t unit = k - terms.inputs;
  if (unit >= terms.hidden) return {};
  if (terms.reset != nullptr && gate == 2) return {terms.reset + unit, nullptr, terms.hidden, terms.first};
  return {terms.y + unit, terms.start == nullptr ? nullptr : terms.start + unit, terms.hidden, terms.n};
}

/// Slices of a column a thread, rows from `begin` on.
template <class T>
struct ColumnSlices {
  using P = WeightPanel<T>;
  static constexpr int values = P::rows * P::slice / panel_threads, apart = panel_threads / P::rows;
  Column<T> column;
  std::int64_t begin, end;

  __device__ void bring(int slice, T (&to)[values]) const {
    const std::int64_t first = begin + slice * P::slice + static_cast<int>(threadIdx.x) / P::rows;
#pragma unroll
    for (int i = 0; i < values; ++i) to[i] = first + i * apart < end ? column.at(first + i * apart) : T{0};
  }
  __device__ void put(const T (&from)[values], P& shared, int buffer) const {
    const int k = static_cast<int>(threadIdx.x) / P::rows, o = static_cast<int>(threadIdx.x) % P::rows;
#pragma unroll
    for (int i = 0; i < values; ++i) shared.left[buffer][k + i * apart][o] = from[i];
  }
};

/// The same of a gate's column of dz; null for none.
template <class T>
struct GradientSlices {
  using P = WeightPanel<T>;
  static constexpr int values = P::columns * P::slice / panel_threads, apart = panel_threads / P::columns;
  const T* column;
  std::int64_t row_values, rows;  // rows left

  __device__ void bring(int slice, T (&to)[values]) const {
    const std::int64_t first = slice * P::slice + static_cast<int>(threadIdx.x) / P::columns;
#pragma unroll
    for (int i = 0; i < values; ++i) {
      const std::int64_t row = first + i * apart;
      to[i] = column != nullptr && row < rows ? column[row * row_values] : T{0};
    }
  }
  __device__ void put(const T (&from)[values], P& shared, int buffer) const {
    const int k = static_cast<int>(threadIdx.x) / P::columns, o = static_cast<int>(threadIdx.x) % P::columns;
#pragma unroll
    for (int i = 0; i < values; ++i) shared.right[buffer][k + i * apart][o] = from[i];
  }
};

/// The tile and the range of a block.
struct BlockTile {
  std::int64_t part, input, gate, unit;

  __device__ BlockTile(std::int64_t inner, std::int64_t gates, std::int64_t hidden) {
    const std::int64_t down = (inner + tile_inputs - 1) / tile_inputs,
                       across = (hidden + panel_units - 1) / panel_units;
    std::int64_t at = blockIdx.x;
    unit = at % across * panel_units, at /= across;
    gate = at % gates, at /= gates;
    input = at % down * tile_inputs, part = at / down;
  }
};

template <class T>
__device__ void move_over(T (&from)[4][8], double (&to)[4][8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      to[i][j] += static_cast<double>(from[i][j]);
      from[i][j] = T{0};
    }
  }
}

template <class T>
__device__ void store_sums(const RecurrentTerms<T>& terms, const BlockTile& tile, const double (&total)[4][8]) {
  const PanelPlace<WeightPanel<T>> at;
  double* const sums = terms.sums + tile.part * terms.stride;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t k = tile.input + at.row + i;
    double* const row = sums + terms.place(k, tile.gate);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const std::int64_t u = tile.unit + j / 4 * 32 + at.column * 4 + j % 4;
      if (k >= terms.inputs + terms.hidden || u >= terms.hidden) continue;
      row[u] = terms.add ? row[u] + total[i][j] : total[i][j];
    }
  }
}

template <class T>
__global__ void __launch_bounds__(panel_threads) weight_sums(RecurrentTerms<T> terms) {
  using P = WeightPanel<T>;
  STROBE_SHARED(P, shared);
  const std::int64_t inner = terms.inputs + terms.hidden;
  const BlockTile tile(inner, terms.gates, terms.hidden);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t begin = terms.parts.begin(tile.part), end = terms.parts.end(tile.part);
  const std::int64_t unit = tile.unit + thread % P::columns, row_values = terms.gates * terms.hidden;
  const T* const dz = terms.dz + begin * row_values + tile.gate * terms.hidden + unit;
  const ColumnSlices<T> left{column_of(terms, tile.input + thread % P::rows, tile.gate), terms.first + begin,
                             terms.first + end};
  const GradientSlices<T> right{unit < terms.hidden ? dz : nullptr, row_values, end - begin};
  const bool adds_bias = tile.input == 0 && thread < P::columns;
  T sum[4][8] = {};
  double total[4][8] = {}, bias = 0;
  multiply_panel(shared, slices_of<P>(end - begin), left, right, sum, [&](int slice) {
    if (adds_bias) {
      T part{0};
#pragma unroll
      for (int k = 0; k < P::slice; ++k) part += shared.right[slice & 1][k][thread];
      bias += static_cast<double>(part);
    }
    if constexpr (sizeof(T) < sizeof(double)) {
      if ((slice + 1) % (flush_rows / P::slice) == 0) move_over(sum, total);
    }
  });
  move_over(sum, total);
  store_sums(terms, tile, total);
  if (adds_bias && unit < terms.hidden) {
    double& to = terms.sums[tile.part * terms.stride + terms.place(inner, tile.gate) + unit];
    to = terms.add ? to + bias : bias;
  }
}

std::int64_t tiles_of(std::int64_t inner, std::int64_t gates, std::int64_t hidden) {
  return divide_up(inner, tile_inputs) * gates * divide_up(hidden, panel_units);
}

template <class T>
void run(const KernelContext& context, const RecurrentTerms<T>& terms) {
  const std::int64_t tiles = tiles_of(terms.inputs + terms.hidden, terms.gates, terms.hidden);
  launch(context, terms.parts.count * tiles, panel_threads, 0, weight_sums<T>, terms);
}

}  // namespace recurrent_weight_sums_kernels

RowParts recurrent_parts(std::int64_t rows, std::int64_t inner, std::int64_t gates, std::int64_t hidden) {
  using namespace recurrent_weight_sums_kernels;
  constexpr std::int64_t wanted_blocks = 256;
  const std::int64_t most = std::max<std::int64_t>(wanted_blocks / tiles_of(inner, gates, hidden), 1);
  const std::int64_t grain = std::max<std::int64_t>(divide_up(divide_up(rows, most), flush_rows), 1) * flush_rows;
  return {rows, grain, divide_up(rows, grain)};
}

void recurrent_weight_sums(const KernelContext& context, const RecurrentTerms<float>& terms) {
  recurrent_weight_sums_kernels::run(context, terms);
}
void recurrent_weight_sums(const KernelContext& context, const RecurrentTerms<double>& terms) {
  recurrent_weight_sums_kernels::run(context, terms);
}

}  // namespace strobe::cuda
