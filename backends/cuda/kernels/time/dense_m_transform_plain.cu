// Plain dense layer under an M-transform, and the gradient of its weights: one thread per value, sums in double and in
// order of time. Backward: dz = M^T dy where the layer's output is positive goes through scratch memory [T n, G], then
// dw by sums of row ranges. Cost 2 w T n F G FLOPs, since every output computes its window's layer again; backward
// 2 launches more.
#include "backends/cuda/kernels/dense/weight_sums.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace dense_m_transform_plain_kernels {

constexpr int threads = 256;

/// A layer x[steps * vertices, inner] w[inner, width] and the window over its output.
template <class T>
struct Layer {
  const T *x, *w;
  std::int64_t steps, vertices, inner, width, window;
  bool relu;
};

template <class Op, class T>
Layer<T> layer_of(const Op& op) {
  return {op.x.template data<T>(), op.w.template data<T>(), op.steps,  op.x.rows() / op.steps,
          op.x.columns(),          op.w.columns(),          op.window, op.activation == Activation::relu};
}

template <class T>
__device__ double hidden(const Layer<T>& layer, std::int64_t row, std::int64_t g) {
  double sum = 0;
  for (std::int64_t f = 0; f < layer.inner; ++f) {
    sum += static_cast<double>(layer.x[row * layer.inner + f]) * static_cast<double>(layer.w[f * layer.width + g]);
  }
  return layer.relu && sum < 0 ? 0 : sum;  // keeps NaN
}

template <class T>
__global__ void forward(Layer<T> layer, T* y) {
  for (std::int64_t i = grid_thread(); i < layer.steps * layer.vertices * layer.width; i += grid_threads()) {
    const std::int64_t row = i / layer.width, step = row / layer.vertices;
    double sum = 0;
    for (std::int64_t s = max(std::int64_t{0}, step - layer.window + 1); s <= step; ++s) {
      sum += hidden(layer, row - (step - s) * layer.vertices, i % layer.width);
    }
    y[i] = static_cast<T>(sum / static_cast<double>(min(layer.window, step + 1)));
  }
}

template <class T>
__global__ void input_gradient(Layer<T> layer, const T* dy, T* dz) {
  const std::int64_t slab = layer.vertices * layer.width;
  for (std::int64_t i = grid_thread(); i < layer.steps * slab; i += grid_threads()) {
    const std::int64_t row = i / layer.width, step = row / layer.vertices;
    double sum = 0;
    if (!layer.relu || hidden(layer, row, i % layer.width) > 0) {
      for (std::int64_t t = step; t < min(layer.steps, step + layer.window); ++t) {
        sum += static_cast<double>(dy[i + (t - step) * slab]) / static_cast<double>(min(layer.window, t + 1));
      }
    }
    dz[i] = static_cast<T>(sum);
  }
}

void run_forward(const DenseMTransform& op, KernelContext& context) {
  if (op.steps == 0) return;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, forward<T>, layer_of<DenseMTransform, T>(op),
           op.y.data<T>());
  });
}

void run_backward(const DenseMTransformBackward& op, KernelContext& context) {
  if (op.steps == 0) return;
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const RowParts ranges = weight_ranges(op.x.rows(), op.w.rows(), op.w.columns());
    const std::size_t dz_bytes = scratch_part(op.dy.elements(), sizeof(T));
    std::byte* const scratch = context.scratch(dz_bytes + scratch_part(ranges.count * op.w.elements(), sizeof(double)));
    T* const dz = reinterpret_cast<T*>(scratch);
    launch(context, blocks_for(op.dy.elements(), threads), threads, 0, input_gradient<T>,
           layer_of<DenseMTransformBackward, T>(op), op.dy.data<T>(), dz);
    const WeightTerms<T> terms{op.x.data<T>(), dz, nullptr, op.x.columns(), op.w.columns()};
    plain_weight_gradient(context, terms, ranges, reinterpret_cast<double*>(scratch + dz_bytes), op.dw.data<T>());
  });
}

const RegisterKernel<DenseMTransform> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<DenseMTransformBackward> plain_backward{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace dense_m_transform_plain_kernels
}  // namespace strobe::cuda
