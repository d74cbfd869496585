// Ranges of rows of the fast dense kernels (see tile.hpp). Backward works on blocks of 128 rows that stay in the
// first-level cache: dz = dy where y > 0, then dw += x^T dz and dx = dz w^T on the block.
#pragma once

#include <vector>

#include "backends/cpu/kernels/dense_deep.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/tile.hpp"

namespace strobe::cpu {

/// Rows [begin, end) of a dense layer.
template <class T, bool with_relu>
void dense_rows(const Dense& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = op.x.columns(), width = op.y.columns();
  const T* bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  T* y = op.y.data<T>() + begin * width;
  const Factors<T> factors{op.x.data<T>() + begin * inner, inner, 1, op.w.data<T>(), width, inner};
  const auto finish = [=](std::int64_t row, std::int64_t column, int lanes, auto sum) {
    constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
    if (bias != nullptr) sum += load_first<T, P>(bias + column, lanes);
    if constexpr (with_relu) sum = relu<T, P>(sum);
    store_first<T, P>(y + row * width + column, sum, lanes);
  };
  if (inner > deep_inner + deep_inner / 2) return multiply_deep(factors, end - begin, width, finish);
  multiply(factors, end - begin, width, finish);
}

/// w^T [G, F], readable for a register past its end.
template <class T>
std::vector<T> transposed(const Tensor& w) {
  std::vector<T> result(static_cast<std::size_t>(w.elements() + most_lanes<T>), T{0});
  for (std::int64_t f = 0; f < w.rows(); ++f) {
    for (std::int64_t g = 0; g < w.columns(); ++g) {
      result[static_cast<std::size_t>(g * w.rows() + f)] = w.data<T>()[f * w.columns() + g];
    }
  }
  return result;
}

/// What one range of rows works with. `sums` [(F + 1) G] holds its part of dw and, behind it, of dbias; without it the
/// range only writes dx.
template <class T>
struct BackwardRange {
  const DenseBackward& op;
  const T* turned;  // w^T
  double* sums;
  std::vector<T> dz;  // [block_rows, G] and a register
};

/// Prefetches the block of rows behind [row, row + rows) of a tensor.
inline void prefetch_next(const Tensor& tensor, std::int64_t row, std::int64_t rows) {
  const std::byte* next = tensor.raw() + static_cast<std::uint64_t>(row + rows) * tensor.row_bytes();
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows) * tensor.row_bytes(); i += 64)
    __builtin_prefetch(next + i);
}

/// dz of `rows` rows from `row` on; without an activation it is dy itself.
template <class T>
const T* block_dz(BackwardRange<T>& range, std::int64_t row, std::int64_t rows) {
  const DenseBackward& op = range.op;
  const std::int64_t width = op.w.columns();
  const T* dy = op.dy.data<T>() + row * width;
  if (op.activation == Activation::none) return dy;
  const T* y = op.y.data<T>() + row * width;
  T* dz = range.dz.data();
  constexpr int P = most_lanes<T>;
  const std::int64_t count = rows * width;
  for (std::int64_t i = 0; i < count; i += P) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(P, count - i));
    __builtin_prefetch(y + count + i);  // the next block
    __builtin_prefetch(dy + count + i);
    const Lanes<T, P> zero{}, outputs = load_first<T, P>(y + i, lanes), gradient = load_first<T, P>(dy + i, lanes);
    store_first<T, P>(dz + i, outputs > zero ? gradient : zero, lanes);
  }
  return dz;
}

template <class T>
void add_block_sums(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows) {
  const DenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  double* sums = range.sums;
  const auto add = [=](std::int64_t f, std::int64_t column, int lanes, auto sum) {
    add_in_double<T, static_cast<int>(sizeof(sum) / sizeof(T))>(sums + f * width + column, sum, lanes);
  };
  if (op.dw.defined()) {
    multiply(Factors<T>{op.x.data<T>() + row * inner, 1, inner, dz, width, rows}, inner, width, add);
  }
  if (op.dbias.defined()) add_column_sums(dz, width, width, rows, sums + inner * width);
}

template <class T, bool accumulate>
void store_block_dx(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows) {
  const DenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  T* dx = op.dx.data<T>() + row * inner;
  const Factors<T> factors{dz, width, 1, range.turned, inner, width};
  multiply(factors, rows, inner, [=](std::int64_t i, std::int64_t column, int lanes, auto sum) {
    constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
    T* target = dx + i * inner + column;
    if constexpr (accumulate) sum += load_first<T, P>(target, lanes);
    store_first<T, P>(target, sum, lanes);
  });
}

/// dx of rows [begin, end), and their part of dw and dbias added to range.sums.
template <class T>
void backward_range(BackwardRange<T>& range, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    const T* dz = block_dz(range, row, rows);
    if (range.sums != nullptr) {
      if (range.op.x.defined() && range.op.x.columns() <= 64) prefetch_next(range.op.x, row, rows);
      add_block_sums(range, dz, row, rows);
    }
    if (!range.op.dx.defined()) continue;
    range.op.accumulate_dx ? store_block_dx<T, true>(range, dz, row, rows)
                           : store_block_dx<T, false>(range, dz, row, rows);
  }
}

}  // namespace strobe::cpu
