// Dense layers of many weights, whose matrices outgrow the first-level cache: products walk w in parts that stay in it,
// and weight gradients are cut by rows of dw instead of by rows of x, so that no task holds sums of all weights.
#pragma once

#include <vector>

#include "backends/cpu/kernels/strip_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/tile.hpp"
#include "backends/operations.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t block_rows = 128;  // rows of x and dz at a time

inline constexpr std::int64_t deep_inner = 128;  // rows of w whose 64 columns stay in the first-level cache
inline constexpr std::int64_t deep_rows = 48;

/// C as multiply() gives it, for many inner terms: `deep_inner` of them at a time for `deep_rows` rows of C, which are
/// added up in a scratch panel, so that a part of B is read from the first-level cache by all of those rows. Terms are
/// added in order within a part and parts in order, however rows are divided.
template <class T, class Finish>
void multiply_deep(const Factors<T>& f, std::int64_t rows, std::int64_t width, const Finish& finish) {
  constexpr std::int64_t panel = 4 * most_lanes<T>;
  T sums[deep_rows * panel];
  for (std::int64_t column = 0; column < width; column += panel) {
    const std::int64_t columns = std::min(panel, width - column);
    for (std::int64_t row = 0; row < rows; row += deep_rows) {
      const std::int64_t count = std::min(deep_rows, rows - row);
      std::fill(sums, sums + count * panel, T{0});
      for (std::int64_t j = 0; j < f.inner; j += deep_inner) {
        const Factors<T> part{f.a + row * f.a_row + j * f.a_inner, f.a_row, f.a_inner,
                              f.b + j * f.b_row + column,          f.b_row, std::min(deep_inner, f.inner - j)};
        multiply(part, count, columns, [&sums](std::int64_t i, std::int64_t c, int lanes, auto sum) {
          constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
          T* to = sums + i * panel + c;
          store_first<T, P>(to, load_first<T, P>(to, lanes) + sum, lanes);
        });
      }
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t c = 0; c < columns; c += most_lanes<T>) {
          constexpr int P = most_lanes<T>;
          const int lanes = static_cast<int>(std::min<std::int64_t>(P, columns - c));
          finish(row + i, column + c, lanes, load_first<T, P>(sums + i * panel + c, lanes));
        }
      }
    }
  }
}

inline constexpr std::int64_t many_weights = 8192;  // more, and sums of all of them per task cost more than the product
inline constexpr std::int64_t weight_task_rows = 48;   // rows of dw
inline constexpr std::int64_t weight_block_rows = 64;  // of x and dz, packed: 12 and 16 KiB
inline constexpr std::int64_t blocks_per_flush = 8;    // summed in the element type before they go to double

/// The part of dw that one task sums up: rows [first, first + count) of dw, over all rows of x and dz.
template <class T>
class WeightTask {
 public:
  WeightTask(const DenseBackward& op, std::int64_t first, std::int64_t count)
      : op_(op),
        first_(first),
        count_(count),
        width_(op.w.columns()),
        totals_(static_cast<std::size_t>(count * width_), 0.0),
        sums_(count * width_, 0, totals_.data()) {}

  void run() {
    const std::int64_t rows = op_.dy.rows();
    for (std::int64_t row = 0, block = 1; row < rows; row += weight_block_rows, ++block) {
      add_block(row, std::min(weight_block_rows, rows - row),
                std::clamp<std::int64_t>(rows - row - weight_block_rows, 0, weight_block_rows));
      if (block % blocks_per_flush == 0) sums_.flush();
    }
    sums_.flush();
    T* dw = op_.dw.data<T>() + first_ * width_;
    for (std::size_t i = 0; i < totals_.size(); ++i) dw[i] = static_cast<T>(static_cast<double>(dw[i]) + totals_[i]);
  }

 private:
  static constexpr std::int64_t panel = 4 * most_lanes<T>;

  /// The `next` rows behind the block are asked for while it is worked on.
  void add_block(std::int64_t row, std::int64_t rows, std::int64_t next) {
    pack_x(row, rows, next);
    for (std::int64_t column = 0; column < width_; column += panel) {
      const std::int64_t columns = std::min(panel, width_ - column);
      pack_dz(row, rows, column, columns);
      sums_.add(column, width_, x_, weight_task_rows, count_, dz_, panel, columns, rows);
    }
  }

  /// The task's columns of x with rows of `weight_task_rows` values. In x itself they lie a row apart, where neither
  /// the prefetcher nor the first-level cache holds them.
  void pack_x(std::int64_t row, std::int64_t rows, std::int64_t next) {
    constexpr int P = most_lanes<T>;
    const std::int64_t inner = op_.w.rows();
    const T* x = op_.x.data<T>() + row * inner + first_;
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* coming = x + std::min(r + weight_block_rows, rows + next - 1) * inner;
      for (std::int64_t c = 0; c < count_; c += P) {
        __builtin_prefetch(coming + c);
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, count_ - c));
        store_first<T, P>(x_ + r * weight_task_rows + c, load_first<T, P>(x + r * inner + c, lanes), lanes);
      }
    }
  }

  /// dz of some columns with rows of `panel` values: rows of many columns, a power of two apart, share cache sets.
  void pack_dz(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    constexpr int P = most_lanes<T>;
    const Lanes<T, P> zero{};
    const bool relu = op_.activation == Activation::relu;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = (row + r) * width_ + column;
      for (std::int64_t c = 0; c < columns; c += P) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, columns - c));
        Lanes<T, P> dz = load_first<T, P>(op_.dy.data<T>() + at + c, lanes);
        if (relu) dz = load_first<T, P>(op_.y.data<T>() + at + c, lanes) > zero ? dz : zero;
        store_first<T, P>(dz_ + r * panel + c, dz, P);
      }
    }
  }

  const DenseBackward& op_;
  std::int64_t first_, count_, width_;
  std::vector<double> totals_;
  StripSums<T> sums_;
  alignas(64) T x_[weight_block_rows * weight_task_rows];
  alignas(64) T dz_[weight_block_rows * panel];
};

/// dbias += the sums over all rows of dz.
template <class T>
void add_bias_sums(const DenseBackward& op) {
  const std::int64_t width = op.w.columns();
  const T *dy = op.dy.data<T>(), *y = op.activation == Activation::relu ? op.y.data<T>() : nullptr;
  std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
  for (std::int64_t r = 0; r < op.dy.rows(); ++r) {
    for (std::int64_t g = 0; g < width; ++g) {
      const std::int64_t at = r * width + g;
      sums[static_cast<std::size_t>(g)] += y == nullptr || y[at] > T{0} ? static_cast<double>(dy[at]) : 0.0;
    }
  }
  T* to = op.dbias.data<T>();
  for (std::int64_t g = 0; g < width; ++g)
    to[g] = static_cast<T>(static_cast<double>(to[g]) + sums[static_cast<std::size_t>(g)]);
}

/// dw and dbias of a layer of many weights, each of whose rows of dw is summed by one task in the order of x's rows.
template <class T>
void add_deep_weights(const DenseBackward& op, const KernelContext& context) {
  const std::int64_t inner = op.w.rows(), parts = op.dw.defined() ? divide_up(inner, weight_task_rows) : 0;
  run_tasks(context, parts + (op.dbias.defined() ? 1 : 0), [&](std::int64_t i) {
    if (i == parts) return add_bias_sums<T>(op);
    const std::int64_t first = i * weight_task_rows;
    WeightTask<T>(op, first, std::min(weight_task_rows, inner - first)).run();
  });
}

}  // namespace strobe::cpu
