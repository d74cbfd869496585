// Ranges of rows of the fast dense kernels (see tile.hpp). Backward works on blocks of 128 rows that stay in the
// first-level cache: dz = dy where y > 0, then dw += x^T dz and dx = dz w^T on the block. Compiled once for all kernels
// that are made of them (dense_rows.cpp).
#pragma once

#include <vector>

#include "backends/cpu/kernels/dense/dense_deep.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe::cpu {

/// Rows [begin, end) of a dense layer, of inputs [end - begin, F] at `x`; op.x is not read.
template <class T>
void dense_block(const Dense& op, const T* x, std::int64_t begin, std::int64_t end);

/// As dense_block, of rows of op.x.
template <class T>
void dense_rows(const Dense& op, std::int64_t begin, std::int64_t end) {
  dense_block(op, op.x.data<T>() + begin * op.x.columns(), begin, end);
}

template <class T>
inline constexpr std::int64_t turned_panel = 4 * most_lanes<T>;

/// w^T [G, F] in consecutive panels of `turned_panel` of its columns, each with its rows close together: a
/// panel of up to 192 rows stays in the first-level cache, where columns of a wide matrix share sets. A matrix of fewer
/// columns is one panel. Readable for a register past its end.
template <class T>
Scratch<T> transposed(const Tensor& w) {
  const std::int64_t inner = w.rows(), width = w.columns(), row = std::min(inner, turned_panel<T>);
  Scratch<T> result(divide_up(inner, turned_panel<T>) * row * width + most_lanes<T>);
  for (std::int64_t f = 0; f < inner; f += most_lanes<T>) {
    T* to = result.data() + f / row * row * width + f % row;
    const T* from = w.data<T>() + f * width;
    const std::int64_t count = std::min<std::int64_t>(most_lanes<T>, inner - f);
    for (std::int64_t g = 0; g < width; ++g) {
      for (std::int64_t i = 0; i < count; ++i) to[g * row + i] = from[i * width + g];
    }
  }
  return result;
}

/// The state of one range of rows. `sums` [(F + 1) G] holds its part of dw, followed by that of dbias; without it the
/// range only writes dx.
template <class T>
struct BackwardRange {
  const DenseBackward& op;
  const T* turned;  // w^T by transposed()
  double* sums;
  std::vector<T> dz;                  // [block_rows, G] and a register
  bool sums_turned = false;           // set by begin_sums()
  Scratch<T> recent = Scratch<T>(0);  // dw^T [G, F] since the last flush_sums(), where sums_turned
};

/// Prefetches `rows` rows of a tensor from `row` on, which may lie past its end, into the first-level cache (locality
/// 3) or the second (2). Always inlined, like prefetch_rows() in strip_sums.hpp.
template <int locality>
[[gnu::always_inline]] inline void prefetch_tensor_rows(const Tensor& tensor, std::int64_t row, std::int64_t rows) {
  const std::byte* const first = tensor.raw() + static_cast<std::uint64_t>(row) * tensor.row_bytes();
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows) * tensor.row_bytes(); i += 64)
    __builtin_prefetch(first + i, 0, locality);
}

/// Prefetches the block of rows after [row, row + rows) of a tensor with few columns; more columns would evict data in
/// use.
[[gnu::always_inline]] inline void prefetch_next(const Tensor& tensor, std::int64_t row, std::int64_t rows) {
  if (tensor.columns() <= 64) prefetch_tensor_rows<3>(tensor, row + rows, rows);
}

/// dz of `rows` rows from `row` on; without an activation it is dy itself.
template <class T>
const T* block_dz(BackwardRange<T>& range, std::int64_t row, std::int64_t rows);

/// range.sums += x^T dz of a block of x [rows, F] and dz [rows, G], and dbias its column sums.
template <class T>
void add_block_sums(const BackwardRange<T>& range, const T* x, const T* dz, std::int64_t rows);

/// Between these two, add_sums() may keep what it adds as dw^T, if that takes fewer registers. flush_sums() is called
/// at least every `weight_task_rows` rows.
template <class T>
void begin_sums(BackwardRange<T>& range);
template <class T>
void flush_sums(BackwardRange<T>& range);

/// As add_block_sums; in range.sums after flush_sums().
template <class T>
void add_sums(BackwardRange<T>& range, const T* x, const T* dz, std::int64_t rows);

/// to [rows, F] = dz w^T.
template <class T>
void multiply_back(const BackwardRange<T>& range, const T* dz, std::int64_t rows, T* to);

/// dx = dz w^T of `rows` rows from `row` on, or added to it where the operation says so.
template <class T>
void store_block_dx(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows);

/// dx of rows [begin, end), and their part of dw and dbias added to range.sums.
template <class T>
void backward_range(BackwardRange<T>& range, std::int64_t begin, std::int64_t end);

}  // namespace strobe::cpu
