// The bodies of dense_rows.hpp, for both element types.
#include "backends/cpu/kernels/dense/dense_rows.hpp"

#include "backends/cpu/kernels/add_values.hpp"
#include "backends/cpu/kernels/dense/tile.hpp"

namespace strobe::cpu {

template <class T>
void dense_block(const Dense& op, const T* x, std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  const T* bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  const Factors<T> factors{x, inner, 1, op.w.data<T>(), width, inner};
  const ProductStore<T> target{op.y.data<T>() + begin * width, width, bias, op.activation == Activation::relu};
  if (inner > deep_inner + deep_inner / 2) return multiply_deep(factors, end - begin, width, target);
  multiply(factors, end - begin, width, target);
}

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
  for_lanes<T>(0, count, [=](std::int64_t i, int lanes) {
    __builtin_prefetch(y + count + i);  // the next block
    __builtin_prefetch(dy + count + i);
    const Lanes<T, P> zero{}, outputs = load_row<T, P>(y + i, lanes), gradient = load_row<T, P>(dy + i, lanes);
    store_first<T, P>(dz + i, outputs > zero ? gradient : zero, lanes);
  });
  return dz;
}

namespace {

/// range.recent += dz^T x of a block of x [rows, F] and dz [rows, G].
template <class T>
void add_turned_sums(BackwardRange<T>& range, const T* x, const T* dz, std::int64_t rows) {
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns();
  multiply(Factors<T>{dz, 1, width, x, inner, rows}, width, inner,
           ProductStore<T>{.to = range.recent.data(), .stride = inner, .accumulate = true});
}

}  // namespace

/// Sums lie turned when the rows of dw^T take fewer registers than those of dw, because dw has few columns.
template <class T>
void begin_sums(BackwardRange<T>& range) {
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns(), lanes = most_lanes<T>;
  range.sums_turned = range.sums != nullptr && range.op.dw.defined() && inner > lanes &&
                      width * divide_up(inner, lanes) < inner * divide_up(width, lanes);
  if (range.sums_turned) range.recent = Scratch<T>(inner * width);
}

template <class T>
void flush_sums(BackwardRange<T>& range) {
  if (!range.sums_turned) return;
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns();
  T* recent = range.recent.data();
  for (std::int64_t f = 0; f < inner; ++f) {
    for (std::int64_t g = 0; g < width; ++g) range.sums[f * width + g] += static_cast<double>(recent[g * inner + f]);
  }
  std::fill(recent, recent + inner * width, T{0});
}

template <class T>
void add_block_sums(const BackwardRange<T>& range, const T* x, const T* dz, std::int64_t rows) {
  constexpr std::int64_t most_gathered = 512;
  const DenseBackward& op = range.op;
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  double* sums = range.sums;
  const Factors<T> factors{x, 1, inner, dz, width, rows};
  if (op.dw.defined() && width < most_lanes<T> && inner * width <= most_gathered) {  // add_values.hpp says why
    alignas(64) T gathered[most_gathered];
    multiply(factors, inner, width, ProductStore<T>{gathered, width});
    for (std::int64_t i = 0; i < inner * width; ++i) sums[i] += static_cast<double>(gathered[i]);
  } else if (op.dw.defined()) {
    multiply(factors, inner, width, ProductSums{sums, width});
  }
  if (op.dbias.defined()) add_column_sums(dz, width, width, rows, sums + inner * width);
}

namespace {

/// to [rows, F] = dz w^T of `rows` rows from `dz` on, or added to it.
template <class T>
void multiply_turned(const BackwardRange<T>& range, const T* dz, std::int64_t rows, T* to, bool accumulate) {
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns();
  for (std::int64_t first = 0; first < inner; first += turned_panel<T>) {
    const std::int64_t panel_row = std::min(inner, turned_panel<T>);
    const Factors<T> factors{dz, width, 1, range.turned + first * width, panel_row, width};
    multiply(factors, rows, std::min(turned_panel<T>, inner - first),
             ProductStore<T>{.to = to + first, .stride = inner, .accumulate = accumulate});
  }
}

}  // namespace

template <class T>
void multiply_back(const BackwardRange<T>& range, const T* dz, std::int64_t rows, T* to) {
  multiply_turned(range, dz, rows, to, false);
}

template <class T>
void store_block_dx(const BackwardRange<T>& range, const T* dz, std::int64_t row, std::int64_t rows) {
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns();
  T* dx = range.op.dx.template data<T>() + row * inner;
  const bool accumulate = range.op.accumulate_dx;
  if (!accumulate || !add_by_array<T>(inner)) return multiply_turned(range, dz, rows, dx, accumulate);
  alignas(64) T added[most_added];
  const std::int64_t some = most_added / inner;
  for (std::int64_t first = 0; first < rows; first += some) {
    const std::int64_t count = std::min(some, rows - first);
    multiply_turned(range, dz + first * width, count, static_cast<T*>(added), false);
    add_values(static_cast<const T*>(added), dx + first * inner, count * inner);
  }
}

template <class T>
void add_sums(BackwardRange<T>& range, const T* x, const T* dz, std::int64_t rows) {
  const DenseBackward& op = range.op;
  if (!range.sums_turned) return add_block_sums(range, x, dz, rows);
  add_turned_sums(range, x, dz, rows);
  if (op.dbias.defined()) add_column_sums(dz, op.w.columns(), op.w.columns(), rows, range.sums + op.w.elements());
}

template <class T>
void backward_range(BackwardRange<T>& range, std::int64_t begin, std::int64_t end) {
  const DenseBackward& op = range.op;
  begin_sums(range);
  for (std::int64_t row = begin; row < end; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, end - row);
    const T* dz = block_dz(range, row, rows);
    if (range.sums != nullptr) {
      if (op.x.defined()) prefetch_next(op.x, row, rows);
      add_sums(range, op.x.defined() ? op.x.data<T>() + row * op.x.columns() : nullptr, dz, rows);
    }
    if ((row - begin + block_rows) % weight_task_rows == 0 || row + rows == end) flush_sums(range);
    if (op.dx.defined()) store_block_dx(range, dz, row, rows);
  }
}

template void dense_block(const Dense&, const float*, std::int64_t, std::int64_t);
template const float* block_dz(BackwardRange<float>&, std::int64_t, std::int64_t);
template void add_block_sums(const BackwardRange<float>&, const float*, const float*, std::int64_t);
template void begin_sums(BackwardRange<float>&);
template void flush_sums(BackwardRange<float>&);
template void add_sums(BackwardRange<float>&, const float*, const float*, std::int64_t);
template void multiply_back(const BackwardRange<float>&, const float*, std::int64_t, float*);
template void store_block_dx(const BackwardRange<float>&, const float*, std::int64_t, std::int64_t);
template void backward_range(BackwardRange<float>&, std::int64_t, std::int64_t);
template void dense_block(const Dense&, const double*, std::int64_t, std::int64_t);
template const double* block_dz(BackwardRange<double>&, std::int64_t, std::int64_t);
template void add_block_sums(const BackwardRange<double>&, const double*, const double*, std::int64_t);
template void begin_sums(BackwardRange<double>&);
template void flush_sums(BackwardRange<double>&);
template void add_sums(BackwardRange<double>&, const double*, const double*, std::int64_t);
template void multiply_back(const BackwardRange<double>&, const double*, std::int64_t, double*);
template void store_block_dx(const BackwardRange<double>&, const double*, std::int64_t, std::int64_t);
template void backward_range(BackwardRange<double>&, std::int64_t, std::int64_t);

}  // namespace strobe::cpu
