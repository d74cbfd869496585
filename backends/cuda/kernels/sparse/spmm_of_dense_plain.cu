// Sparse product of a dense layer's output, computed again for every entry, and its gradients. Forward: one thread per
// value of y, entries in stored order; a row's threads read the same values of x. Backward: one thread per column of
// every part of a step's rows holds the sums of w's and the bias's column in double, and a launch adds the parts in
// order; their number depends on shapes only. Cost: 2 (F + 1) G FLOPs per entry forward and about twice that backward;
// per value of y the row's indices and values once more (from the first level cache where G > 1) and F values of x per
// entry; one launch forward, two or three backward.
#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/cuda/kernels/sparse/compressed.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace spmm_of_dense_kernels {

constexpr int threads = 256;
constexpr int most_inner = static_cast<int>(SpmmOfDense::most_features);

/// The layer; with one weight for all steps, `steps` is one step of all rows whose list is null.
template <class T>
struct Layer {
  const T *x, *w, *bias;
  std::int64_t inner, width;
  bool relu;

  /// x_c w + bias in column g, `weights` being w of the step.
  __device__ T value(const T* weights, std::int64_t c, std::int64_t g) const {
    T z = bias != nullptr ? bias[g] : T{0};
    for (std::int64_t f = 0; f < inner; ++f) z += x[c * inner + f] * weights[f * width + g];
    return z;
  }
};

template <class T, class Op>
Layer<T> layer_of(const Op& op) {
  return {op.x.template data<T>(), op.w.template data<T>(), op.bias.template data<T>(),
          op.x.columns(),          op.w.columns(),          op.activation == Activation::relu};
}

template <class T>
__global__ void spmm_of_dense(Compressed<T> a, Layer<T> layer, StepParts steps, T* y) {
  for (std::int64_t i = grid_thread(); i < a.rows * layer.width; i += grid_threads()) {
    const std::int64_t row = i / layer.width, g = i % layer.width;
    const std::int64_t step = steps.step_rows != nullptr ? steps.step_of(row) : 0;
    const T* const w = layer.w + step * layer.inner * layer.width;
    T sum{0};
    for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k)
      sum += a.values[k] * activated(layer.value(w, a.indices[k], g), layer.relu);
    y[i] = sum;
  }
}

/// Adds what row `row` gives column g: sums [0, inner) are of w, sums[inner] of the bias.
template <class T>
__device__ void add_row(const Compressed<T>& a, const Layer<T>& layer, const T* w, std::int64_t row, std::int64_t g,
                        T dy, double (&sums)[most_inner + 1]) {
  T of_row[most_inner + 1] = {};
  for (std::int64_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) {
    const std::int64_t c = a.indices[k];
    if (layer.relu && !(layer.value(w, c, g) > T{0})) continue;
#pragma unroll
    for (int f = 0; f < most_inner; ++f) {
      if (f < layer.inner) of_row[f] += a.values[k] * layer.x[c * layer.inner + f];
    }
    of_row[most_inner] += a.values[k];
  }
#pragma unroll
  for (int f = 0; f <= most_inner; ++f) sums[f] += static_cast<double>(of_row[f]) * static_cast<double>(dy);
}

/// sums [steps, parts, (F + 1) G].
template <class T>
__global__ void gradient_sums(Compressed<T> a, Layer<T> layer, StepParts steps, const T* dy, double* sums) {
  const std::int64_t stride = (layer.inner + 1) * layer.width;
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * layer.width; i += grid_threads()) {
    const std::int64_t part = i / layer.width, g = i % layer.width, step = part / steps.parts;
    const bool by_step = steps.step_rows != nullptr;
    const std::int64_t which = part % steps.parts;
    const std::int64_t begin = by_step ? steps.begin(step, which) : a.rows * which / steps.parts;
    const std::int64_t end = by_step ? steps.end(step, which) : a.rows * (which + 1) / steps.parts;
    const T* const w = layer.w + step * layer.inner * layer.width;
    double of_part[most_inner + 1] = {};
    for (std::int64_t row = begin; row < end; ++row) add_row(a, layer, w, row, g, dy[row * layer.width + g], of_part);
    double* const to = sums + part * stride + g;
    for (std::int64_t f = 0; f < layer.inner; ++f) to[f * layer.width] = of_part[f];
    to[layer.inner * layer.width] = of_part[most_inner];
  }
}

/// The op's steps, or all rows as one step in as many parts as the device likes.
template <class Op>
StepParts parts_of(const Op& op, std::int64_t stride) {
  constexpr std::int64_t grain = 64;
  if (op.step_rows.defined()) return step_parts(op.step_rows, op.a.rows, grain, stride);
  return {nullptr, 1, std::max<std::int64_t>(1, row_parts(op.a.rows, stride, grain).count)};
}

void run_forward(const SpmmOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, spmm_of_dense<T>, compressed<T>(op.a),
           layer_of<T>(op), parts_of(op, 0), op.y.data<T>());
  });
}

void run_backward(const SpmmOfDenseBackward& op, KernelContext& context) {
  const std::int64_t width = op.dy.columns(), weights = op.x.columns() * width, stride = weights + width;
  const StepParts steps = parts_of(op, stride);
  const std::int64_t parts = steps.steps * steps.parts;
  if (parts == 0) return;
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    double* const sums = part_sums_memory(context, parts, stride);
    launch(context, blocks_for(parts * width, threads), threads, 0, gradient_sums<T>, compressed<T>(op.a),
           layer_of<T>(op), steps, op.dy.data<T>(), sums);
    launch(context, blocks_for(steps.steps * weights, threads), threads, 0, add_step_parts<T>, op.dw.data<T>(), steps,
           weights, stride, sums, op.accumulate_dw);
    if (op.dbias.defined()) add_part_sums<T>(context, Tensor(), weights, op.dbias, sums, parts, stride);
  });
}

template <class Op>
bool supports(const Op& op) {
  return op.x.columns() <= most_inner;
}

const RegisterKernel<SpmmOfDense> forward{"cuda", {"plain", 0, supports<SpmmOfDense>, run_forward}};
const RegisterKernel<SpmmOfDenseBackward> backward{"cuda", {"plain", 0, supports<SpmmOfDenseBackward>, run_backward}};

}  // namespace spmm_of_dense_kernels
}  // namespace strobe::cuda
