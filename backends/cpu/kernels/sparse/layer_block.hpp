// Graph convolution y = activation((A x) w) in blocks of rows: the sums of a block go into `aggregated`, or into a
// block that stays in the first-level cache when nobody asked for them, and are multiplied by w from there (tile.hpp).
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/matrix/length_sorted_matrix.hpp"

namespace strobe::cpu {

/// Rows [row, row + rows) of y = activation(sums w), `sums` [rows, F].
template <class T>
void multiply_block(const GraphConvolution& op, const T* sums, std::int64_t row, std::int64_t rows) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  multiply(Factors<T>{sums, inner, 1, op.w.data<T>(), width, inner}, rows, width,
           ProductStore<T>{
               .to = op.y.data<T>() + row * width, .stride = width, .with_relu = op.activation == Activation::relu});
}

/// Rows [begin, end) of y; gather(sums, first, last) stores those rows of A x.
template <class T, class Gather>
void convolve_blocks(const GraphConvolution& op, std::int64_t begin, std::int64_t end, const Gather& gather) {
  const std::int64_t inner = op.x.columns();
  const bool kept = op.aggregated.defined();
  std::vector<T> scratch(kept ? 0 : static_cast<std::size_t>(length_block_rows * inner + most_lanes<T>));
  for (std::int64_t row = begin; row < end; row += length_block_rows) {
    const std::int64_t last = std::min(end, row + length_block_rows);
    T* const sums = kept ? op.aggregated.data<T>() + row * inner : scratch.data();
    gather(sums, row, last);
    multiply_block(op, sums, row, last - row);
  }
}

}  // namespace strobe::cpu
