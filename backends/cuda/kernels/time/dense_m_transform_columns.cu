// Gradient of the weights of a dense layer of up to four input features under an M-transform of a window of up to eight
// steps, in one pass: a thread has one column of one vertex, walks a segment of 16 steps from the last to the first
// with the window's values of dy / min(w, t + 1) and its column of w in registers, computes the layer's output again
// where relu asks for its sign, and adds x dz to its sums, one a feature. Sums are of the element type within a
// segment, then double; a block adds those of its vertices in order, and a second launch adds the blocks'.
// Bytes: dy once and (w - 1) / 16 more, x once per column from the first level cache, 8 F G of sums per block. Some 60
// instructions a value of dy. Launches: 2.
#include <algorithm>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace dense_m_transform_columns_kernels {

constexpr int most_inner = 4, ring = static_cast<int>(DenseMTransform::longest_window);
constexpr int threads = 256, segment = 2 * ring;

template <class T>
struct Layer {
  const T* __restrict__ x, * __restrict__ w, * __restrict__ dy;
  std::int64_t steps, vertices;
  int inner, width, window;
  bool relu;
};

/// A block has `columns` columns of a tile and as many vertices as its threads hold; blocks differ in their tile, then
/// in their segment of time, then in their range of vertices.
struct Division {
  int columns, tiles, block_vertices;
  std::int64_t segments;
  RowParts vertices;

  std::int64_t parts() const { return segments * vertices.count; }
};

Division division(const DenseMTransformBackward& op) {
  const std::int64_t width = op.w.columns(), vertices = op.x.rows() / op.steps;
  Division by{};
  by.columns = static_cast<int>(std::min<std::int64_t>(width, threads));
  by.tiles = static_cast<int>(divide_up(width, by.columns));
  by.block_vertices = threads / by.columns;
  by.segments = divide_up(op.steps, segment);
  by.vertices = row_parts(vertices, op.w.elements() * by.segments, by.block_vertices);
  return by;
}

/// Adds what one column of one vertex gives in steps (from the last backwards) [first, end); inverse[k] is 1 / k.
template <class T>
__device__ void add_segment(const Layer<T>& layer, std::int64_t vertex, int column, const T (&w)[most_inner],
                            const T* inverse, std::int64_t first, std::int64_t end, double (&sums)[most_inner]) {
  T in_window[ring] = {}, sum[most_inner] = {};
  const std::int64_t start = max(std::int64_t{0}, first - (layer.window - 1));
  for (std::int64_t base = start; base < end; base += ring) {
    T dy[ring], x[ring][most_inner];
#pragma unroll
    for (int j = 0; j < ring; ++j) {
      const std::int64_t row = (layer.steps - 1 - base - j) * layer.vertices + vertex;
      const bool there = base + j < end;
      dy[j] = there ? layer.dy[row * layer.width + column] : T{0};
#pragma unroll
      for (int f = 0; f < most_inner; ++f) {
        x[j][f] = there && base + j >= first && f < layer.inner ? layer.x[row * layer.inner + f] : T{0};
      }
    }
#pragma unroll
    for (int j = 0; j < ring; ++j) {
      const std::int64_t behind = layer.steps - base - j;  // steps up to this one
      in_window[j] = dy[j] * inverse[max(std::int64_t{1}, min(behind, static_cast<std::int64_t>(layer.window)))];
      if (base + j < first || base + j >= end) continue;
      T dz{0}, hidden{0};
#pragma unroll
      for (int d = ring - 1; d >= 0; --d) {
        if (d < layer.window) dz += in_window[(j - d + ring) % ring];
      }
#pragma unroll
      for (int f = 0; f < most_inner; ++f) hidden = fma(x[j][f], w[f], hidden);
      if (layer.relu && !(hidden > T{0})) continue;
#pragma unroll
      for (int f = 0; f < most_inner; ++f) sum[f] += x[j][f] * dz;
    }
  }
#pragma unroll
  for (int f = 0; f < most_inner; ++f) sums[f] += static_cast<double>(sum[f]);
}

/// sums [parts, F G]
template <class T>
__global__ void __launch_bounds__(threads) add_columns(Layer<T> layer, Division by, double* sums) {
  STROBE_SHARED(double[most_inner][threads], shared);
  STROBE_SHARED(T[ring + 1], inverse);
  const int thread = static_cast<int>(threadIdx.x), own = thread / by.columns;
  const std::int64_t part = blockIdx.x / by.tiles, range = part / by.segments;
  const int first_column = static_cast<int>(blockIdx.x % by.tiles) * by.columns;
  const int column = first_column + thread % by.columns;
  const std::int64_t first = part % by.segments * segment, end = min(layer.steps, first + segment);
  if (thread <= ring) inverse[thread] = T{1} / static_cast<T>(max(thread, 1));
  __syncthreads();
  double own_sums[most_inner] = {};
  if (own < by.block_vertices && column < layer.width) {
    T w[most_inner];
#pragma unroll
    for (int f = 0; f < most_inner; ++f) w[f] = f < layer.inner ? layer.w[f * layer.width + column] : T{0};
    for (std::int64_t v = by.vertices.begin(range) + own; v < by.vertices.end(range); v += by.block_vertices) {
      add_segment(layer, v, column, w, inverse, first, end, own_sums);
    }
  }
#pragma unroll
  for (int f = 0; f < most_inner; ++f) shared[f][thread] = own_sums[f];
  __syncthreads();
  for (int i = thread; i < layer.inner * by.columns; i += threads) {
    const int f = i / by.columns, g = i % by.columns;
    if (first_column + g >= layer.width) continue;
    double sum = 0;
    for (int v = 0; v < by.block_vertices; ++v) sum += shared[f][v * by.columns + g];
    sums[(part * layer.inner + f) * layer.width + first_column + g] = sum;
  }
}

template <class T>
void differentiate(const DenseMTransformBackward& op, const KernelContext& context) {
  const Division by = division(op);
  const std::int64_t weights = op.w.elements();
  double* const sums = part_sums_memory(context, by.parts(), weights);
  const Layer<T> layer{op.x.data<T>(),
                       op.w.data<T>(),
                       op.dy.data<T>(),
                       op.steps,
                       op.x.rows() / op.steps,
                       static_cast<int>(op.x.columns()),
                       static_cast<int>(op.w.columns()),
                       static_cast<int>(std::min(op.window, op.steps)),
                       op.activation == Activation::relu};
  launch(context, by.parts() * by.tiles, threads, 0, add_columns<T>, layer, by, sums);
  add_part_sums<T>(context, op.dw, weights, Tensor(), sums, by.parts(), weights);
}

void run(const DenseMTransformBackward& op, KernelContext& context) {
  if (op.steps == 0) return;
  with_element(op.dy.type(), [&](auto zero) { differentiate<decltype(zero)>(op, context); });
}

bool supports(const DenseMTransformBackward& op) {
  return op.x.columns() >= 1 && op.x.columns() <= most_inner && op.w.columns() >= 1 &&
         std::min(op.window, op.steps) <= ring;
}

const RegisterKernel<DenseMTransformBackward> columns{"cuda", {"columns", 20, supports, run}};

}  // namespace dense_m_transform_columns_kernels
}  // namespace strobe::cuda
