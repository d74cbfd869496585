// Shared by the recurrences by rows, whose states are whole registers: every pass reads and writes rows [rows, h] of
// states and gates as they lie in memory, a block of vertices at a time.
#pragma once

#include "backends/cpu/kernels/dense/row_products.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_walks.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t recurrent_block_rows = 24;  // two tiles of rows; 24 KiB of an LSTM's gates at 64 units
inline constexpr std::int64_t recurrent_tile_rows = 4 * recurrent_block_rows;

/// Whether a recurrence by rows serves `op`: its states are whole panels, its inputs are read as they are.
template <class Op>
bool serves_rows(const Op& op) {
  if constexpr (requires { op.w_in; }) {
    if (op.w_in.defined()) return false;
  }
  const std::int64_t lanes = op.y.type() == ElementType::f32 ? most_lanes<float> : most_lanes<double>;
  return op.y.columns() % (2 * lanes) == 0;
}

/// Stores `count` values, whole registers, at `to`, past the caches when they are whole lines; end_streams() follows
/// the last of them.
template <class T>
void keep_values(const T* from, T* to, std::int64_t count) {
  constexpr int P = most_lanes<T>;
  if (!in_whole_lines(to, count, count)) {
    std::copy_n(from, count, to);
    return;
  }
  for (std::int64_t i = 0; i < count; i += P) stream_line(to + i, load<T, P>(from + i));
}

/// Takes a tile of vertices [begin, end) through time; step(at, next) takes a block one step on.
template <class Op, class Step>
void walk_rows(const Op& op, std::int64_t begin, std::int64_t end, const Step& step) {
  for (std::int64_t t = 0; t < op.steps; ++t) {
    over_parts(op, t, 1, recurrent_block_rows, begin, end, [&](const NextStrip& at, const NextStrip& next) {
      if (op.restarts.defined()) prefetch_sequences(op, at, 1);
      step(at, next);
    });
  }
  end_streams();
}

/// States of blocks as they lie in memory.
template <class T>
struct StatesInRows {
  static constexpr bool turned = false;
  static constexpr std::int64_t part = recurrent_block_rows, tile = recurrent_tile_rows;

  static void load(const T* from, std::int64_t hidden, std::int64_t rows, T* to) {
    std::copy_n(from, rows * hidden, to);
  }
  static void store(const T* from, std::int64_t hidden, std::int64_t rows, T* to) {
    std::copy_n(from, rows * hidden, to);
  }
  static void add_last(const std::int32_t* ends, std::int64_t rows, const T* dlast, std::int64_t hidden, T* gradient) {
    for_listed(ends, rows, [=](std::int64_t r) {
      for (std::int64_t u = 0; u < hidden; ++u) gradient[r * hidden + u] += dlast[ends[r] * hidden + u];
    });
  }
  static void leave(const std::int32_t* entries, std::int64_t rows, T* dstart, std::int64_t hidden, T* gradient) {
    for_listed(entries, rows, [=](std::int64_t r) {
      T* const own = gradient + r * hidden;
      if (entries[r] >= 0 && dstart != nullptr) std::copy_n(own, hidden, dstart + entries[r] * hidden);
      std::fill_n(own, hidden, T{0});
    });
  }
};

/// The walk of any cell back through time by rows.
template <class T, class Op>
struct RowsBack : WalkBack<T, Op, StatesInRows<T>> {
  std::int64_t dz_stride;
  double* bias_total;
  LinesAhead ahead;
  Scratch<T> dz, gates;  // of the tile, [rows, width], and of a block

  RowsBack(const Op& operation, double* total)
      : WalkBack<T, Op, StatesInRows<T>>(operation, total),
        dz_stride(spread_rows<T>(this->width)),
        bias_total(total + matrix_elements(operation)),
        dz(recurrent_tile_rows * dz_stride),
        gates(operation.gates.defined() ? 0 : recurrent_block_rows * this->width) {}

  /// Prefetches the rows that the next block reads and writes.
  void look_ahead(const NextStrip& next) {
    const Op& of = this->op;
    ahead.clear();
    for (const Tensor* tensor : {&of.gates, &of.dy}) ahead.add(next, this->n, *tensor);
    if constexpr (HasCells<Op>) ahead.add(next, this->n, of.cells, 1);
    ahead.add(next, this->n, of.y, 1);
    for (const Tensor* tensor : {&of.x, &of.dx}) ahead.add(next, this->n, *tensor);
    if constexpr (HasCells<Op>) {
      for (const Tensor* tensor : {&of.x_right, &of.dx_right}) ahead.add(next, this->n, *tensor);
    }
  }
};

}  // namespace strobe::cpu
