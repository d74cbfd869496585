// Dense layers of many weights, whose matrices outgrow the first-level cache: products walk w in parts that stay in it,
// and weight gradients are cut by rows of dw instead of by rows of x, so that no task holds sums of all weights.
#pragma once

#include <vector>

#include "backends/cpu/kernels/dense/column_parts.hpp"
#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t block_rows = 128;  // rows of x and dz at a time

inline constexpr std::int64_t deep_inner = 128;  // rows of w whose 64 columns stay in the first-level cache
inline constexpr std::int64_t deep_rows = 48;

/// Stores one register of C with `lanes` valid lanes to row i from column c on, the way multiply() does.
template <class T>
[[gnu::always_inline]] inline void put(const ProductStore<T>& target, std::int64_t i, std::int64_t c, int lanes,
                                       Lanes<T, most_lanes<T>> sum) {
  constexpr int P = most_lanes<T>;
  T* const to = target.to + i * target.stride + c;
  if (target.bias != nullptr) sum += load_first<T, P>(target.bias + c, lanes);
  if (target.with_relu) sum = relu<T, P>(sum);
  if (target.accumulate) sum += load_first<T, P>(to, lanes);
  store_first<T, P>(to, sum, lanes);
}

/// As multiply(), for many inner terms: `deep_inner` of them at a time for `deep_rows` rows of C, which are added up in
/// a scratch panel, so that a part of B is read from the first-level cache by all of those rows. Terms are added in
/// order within a part and parts in order, however rows are divided.
template <class T>
void multiply_deep(const Factors<T>& f, std::int64_t rows, std::int64_t width, const ProductStore<T>& target) {
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
        multiply(part, count, columns, ProductStore<T>{.to = sums, .stride = panel, .accumulate = true});
      }
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t c = 0; c < columns; c += most_lanes<T>) {
          constexpr int P = most_lanes<T>;
          const int lanes = static_cast<int>(std::min<std::int64_t>(P, columns - c));
          put(target, row + i, column + c, lanes, load_first<T, P>(sums + i * panel + c, lanes));
        }
      }
    }
  }
}

inline constexpr std::int64_t many_weights = 8192;  // more, and sums of all of them per task cost more than the product
inline constexpr std::int64_t weight_block_rows = 64;        // of x and dz, packed: 12 and 16 KiB
inline constexpr std::int64_t weight_strip = 48;             // columns of x
inline constexpr std::int64_t weight_task_values = 3 << 14;  // of dw, whose sums stay in the second-level cache
inline constexpr std::int64_t weight_task_rows = 512;  // rows of x and dz that are summed in the element type; at least
                                                       // this many
inline constexpr std::int64_t most_weight_totals = 1 << 22;  // doubles of all tasks

/// How the sums of dw are cut into tasks: into `chunks` of rows of dw, and over `ranges` of rows of x. Depends on
/// shapes only, so that the result does not depend on the number of threads.
struct WeightTasks {
  std::int64_t chunk, chunks, range, ranges;

  WeightTasks(std::int64_t rows, std::int64_t inner, std::int64_t width) {
    chunk = std::min(inner, std::max(weight_strip, weight_task_values / width / weight_strip * weight_strip));
    chunks = divide_up(inner, chunk);
    const std::int64_t most = std::clamp<std::int64_t>(most_weight_totals / ((inner + 1) * width), 1, 64);
    range = divide_up(std::max(weight_task_rows, divide_up(rows, most)), block_rows) * block_rows;
    ranges = divide_up(rows, range);
  }
};

/// The part of dw that one task sums up: rows [first, first + count) of dw, over a range of rows of x and dz.
template <class T>
class WeightTask {
 public:
  /// `x` are the layer's inputs side by side, in order; op.x is not read. `totals` [count * G] is zero at first; `bias`
  /// [G], where it is not null, takes the column sums of dz.
  WeightTask(const DenseBackward& op, const std::vector<Part<T>>& x, std::int64_t first, std::int64_t count,
             double* totals, double* bias)
      : op_(op),
        parts_(x),
        first_(first),
        count_(count),
        width_(op.w.columns()),
        bias_(bias),
        sums_(count * width_, 0, totals),
        dz_(divide_up(width_, panel) * panel * weight_block_rows) {}

  void run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; row += weight_block_rows) {
      const std::int64_t rows = std::min(weight_block_rows, end - row);
      pack_dz(row, rows);
      for (std::int64_t strip = 0; strip < count_; strip += weight_strip) {
        const std::int64_t inner = std::min(weight_strip, count_ - strip);
        pack_x(row, rows, first_ + strip, inner);
        for (std::int64_t column = 0; column < width_; column += panel) {
          sums_.add(strip * width_ + column, width_, x_, weight_strip, inner, dz_.data() + column * weight_block_rows,
                    panel, std::min(panel, width_ - column), rows);
        }
      }
      if ((row - begin + weight_block_rows) % weight_task_rows == 0) sums_.flush();
    }
    sums_.flush();
  }

 private:
  static constexpr std::int64_t panel = 4 * most_lanes<T>;

  /// Columns [first, first + count) of x with rows of `weight_strip` values: in x itself they lie a row apart, where
  /// the first-level cache does not hold them.
  void pack_x(std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count) {
    for (const Part<T>& part : parts_) {
      const std::int64_t begin = std::max(first, part.first), end = std::min(first + count, part.first + part.width);
      if (begin < end) pack_part(part, row, rows, begin - part.first, end - begin, x_ + begin - first);
    }
  }

  /// Packs columns [first, first + count) of a part, and prefetches the same columns of the next block.
  void pack_part(const Part<T>& part, std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                 T* to) {
    constexpr int P = most_lanes<T>;
    const std::int64_t ahead = weight_block_rows * part.width;
    const T* x = part.data + row * part.width + first;
    for (std::int64_t r = 0; r < rows; ++r, x += part.width) {
      for (std::int64_t c = 0; c < count; c += P) {
        __builtin_prefetch(x + ahead + c, 0, 2);
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, count - c));
        store_first<T, P>(to + r * weight_strip + c, load<T, P>(x + c), lanes);
      }
    }
  }

  /// dz in panels of columns: rows of many columns, a power of two apart, share cache sets.
  void pack_dz(std::int64_t row, std::int64_t rows) {
    for (std::int64_t column = 0; column < width_; column += panel) {
      const std::int64_t columns = std::min(panel, width_ - column);
      T* to = dz_.data() + column * weight_block_rows;
      pack_panel(row, rows, column, columns, to);
      if (bias_ != nullptr) add_column_sums(to, panel, columns, rows, bias_ + column);
    }
  }

  void pack_panel(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, T* to) {
    constexpr int P = most_lanes<T>;
    const Lanes<T, P> zero{};
    const bool relu = op_.activation == Activation::relu;
    for (std::int64_t r = 0; r < rows; ++r, to += panel) {
      const std::int64_t at = (row + r) * width_ + column;
      for (std::int64_t c = 0; c < columns; c += P) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(P, columns - c));
        __builtin_prefetch(op_.dy.data<T>() + at + weight_block_rows * width_ + c, 0, 2);
        Lanes<T, P> dz = load_row<T, P>(op_.dy.data<T>() + at + c, lanes);
        if (relu) dz = load_row<T, P>(op_.y.data<T>() + at + c, lanes) > zero ? dz : zero;
        store_first<T, P>(to + c, dz, P);
      }
    }
  }

  const DenseBackward& op_;
  const std::vector<Part<T>>& parts_;
  std::int64_t first_, count_, width_;
  double* bias_;
  StripSums<T> sums_;
  Scratch<T> dz_;  // [panels][weight_block_rows][panel]
  alignas(64) T x_[weight_block_rows * weight_strip];
};

/// dw and dbias of a layer of many weights, whose inputs are `x` side by side; op.x is not read.
template <class T>
void add_deep_weights(const DenseBackward& op, const std::vector<Part<T>>& x, const KernelContext& context) {
  if (!op.dw.defined() && !op.dbias.defined()) return;
  const std::int64_t rows = op.dy.rows(), inner = op.dw.defined() ? op.w.rows() : 0, width = op.w.columns();
  const WeightTasks cut(rows, op.w.rows(), width);
  const std::int64_t stride = (inner + 1) * width, chunks = std::max<std::int64_t>(1, divide_up(inner, cut.chunk));
  std::vector<double> totals(cut.ranges * stride, 0.0);
  run_tasks(context, cut.ranges * chunks, [&](std::int64_t i) {
    const std::int64_t begin = i / chunks * cut.range, first = i % chunks * cut.chunk;
    double* own = totals.data() + i / chunks * stride;
    double* bias = first == 0 && op.dbias.defined() ? own + inner * width : nullptr;
    WeightTask<T>(op, x, first, std::min(cut.chunk, inner - first), own + first * width, bias)
        .run(begin, std::min(rows, begin + cut.range));
  });
  for_ranges(context, inner * width, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    add_range_part<T>(op.dw, totals.data(), cut.ranges, stride, begin, end);
  });
  add_range_sums<T>(op.dbias, totals, inner * width, stride);
}

}  // namespace strobe::cpu
