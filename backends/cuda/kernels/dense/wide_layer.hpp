// Shared by dense layers of wide matrices: one product of rows [x | x' | ...] with a weight, or a product per
// column block or per step of rows, forward and backward (wide_layer.cu). The operations describe themselves as a
// WideLayer.
#pragma once

#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/cuda/kernels/dense/wide_product.hpp"

namespace strobe::cuda {

inline constexpr int most_wide_parts = 16;

/// Columns of x [R, F] as adjacent parts, and where their gradients go.
template <class T>
struct WideParts {
  const T* part[most_wide_parts];
  T* gradient[most_wide_parts];  // null: not wanted
  int begin[most_wide_parts + 1];
  int apart[most_wide_parts];  // values from row to row
  bool accumulate[most_wide_parts];
  int count;

  __host__ __device__ void add(const T* x, T* dx, int width, int row, bool add_to_dx) {
    part[count] = x, gradient[count] = dx, apart[count] = row, accumulate[count] = add_to_dx;
    begin[count + 1] = begin[count] + width;
    ++count;
  }
  __device__ int holding(int column) const {
    int p = 0;
    while (column >= begin[p + 1]) ++p;
    return p;
  }
};

/// y = activation(x w + bias) for `batches` products: column blocks, whose x, w, bias and y lie one after the other, or
/// steps, whose weights do and whose rows are [step_rows[t], step_rows[t + 1]).
template <class T>
struct WideLayer {
  WideParts<T> x;
  const T *w, *bias;   // of all batches; bias may be null
  T* out;              // forward: y
  const T *live, *dy;  // backward: y where there is an activation, dy
  const T* left;       // forward: [R, skip], passed through to the first columns of y; may be null
  bool add_left;       // backward: dy of the columns passed through goes to dx as well
  std::int64_t rows, skip, y_apart;
  int inner, width;
  std::int64_t batches;
  const std::int64_t* step_rows;  // null: batches are column blocks
  bool relu, vector;              // vector: everything can be read four columns at a time

  __host__ __device__ std::int64_t weights() const { return static_cast<std::int64_t>(inner) * width; }
  __host__ __device__ std::int64_t block(std::int64_t batch) const { return step_rows == nullptr ? batch : 0; }
};

/// Where the gradient of the weights goes, and whether it is added to what is there (always, without steps).
struct WideSums {
  Tensor dw, dbias;
  bool accumulate;
};

/// One launch.
void run_wide_forward(const WideLayer<float>& layer, const KernelContext& context);
void run_wide_forward(const WideLayer<double>& layer, const KernelContext& context);

/// One launch, and one that adds the ranges' sums.
void run_wide_backward(const WideLayer<float>& layer, const WideSums& sums, const KernelContext& context);
void run_wide_backward(const WideLayer<double>& layer, const WideSums& sums, const KernelContext& context);

/// Whether rows of `columns` values from there on can be read four at a time.
template <class T>
bool takes_fours(const T* data, std::int64_t columns) {
  return columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// A layer of one batch of `rows` rows with weights w [F, G], so far without operands.
template <class T>
WideLayer<T> wide_layer_of(const Tensor& w, std::int64_t rows, Activation activation) {
  WideLayer<T> p{};
  p.w = w.data<T>(), p.rows = rows, p.batches = 1;
  p.inner = static_cast<int>(w.rows()), p.width = static_cast<int>(w.columns()), p.y_apart = p.width;
  p.relu = activation == Activation::relu;
  p.vector = takes_fours(p.w, p.width);
  return p;
}

/// Below, tiles of 64 columns would be mostly empty. Numbers of columns are ints, and a grid has at most 2^31 - 1
/// blocks.
inline bool is_wide_layer(std::int64_t rows, std::int64_t inner, std::int64_t width, std::int64_t batches) {
  constexpr std::int64_t least_weights = 64, most = std::int64_t{1} << 30;
  const std::int64_t wider = inner > width ? inner : width;
  return inner >= 1 && width >= 1 && inner * width >= least_weights && batches * wider < most &&
         (divide_up(rows, wide_tile) + 1) * batches * divide_up(wider, wide_tile) * 2 < most;
}

}  // namespace strobe::cuda
