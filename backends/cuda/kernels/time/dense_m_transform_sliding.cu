// Dense layer under an M-transform in one pass over time per output value, for windows up to 8 steps: the layer's
// values in the window stay in registers (sliding_window.hpp), x and w are read through the first level cache, where
// the values of one row and the columns of w are neighbours. Gradient of w: dz = M^T dy where the layer's output is
// positive, made in the same way into scratch memory, then dw by tiles of rows (weight_tiles.hpp).
// Compulsory bytes: x and y once. Backward: x twice, dy once, dz [T n, G] out and in. Launches: 1; 3 backward.
#include "backends/cuda/kernels/dense/weight_tiles.hpp"
#include "backends/cuda/kernels/time/sliding_window.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe::cuda {
namespace dense_m_transform_sliding_kernels {

constexpr int window_limit = static_cast<int>(DenseMTransform::longest_window);

/// Value `at` (vertex * width + column) of a step's layer.
template <class T>
struct Layer {
  const T* __restrict__ x, * __restrict__ w;
  std::int64_t vertices;
  int inner, width;
  bool relu;

  __device__ T hidden(std::int64_t step, std::int64_t at) const {
    const T* const row = x + (step * vertices + at / width) * inner;
    const T* const column = w + at % width;
    T sum{0};
    for (int f = 0; f < inner; ++f) sum = fma(row[f], column[f * width], sum);
    return sum;
  }
};

template <class Op, class T>
Layer<T> layer_of(const Op& op) {
  return {op.x.template data<T>(),          op.w.template data<T>(),          op.x.rows() / op.steps,
          static_cast<int>(op.x.columns()), static_cast<int>(op.w.columns()), op.activation == Activation::relu};
}

template <class T>
struct ForwardRule {
  Layer<T> layer;
  std::int64_t window;

  __device__ T value(std::int64_t step, std::int64_t at) const {
    const T sum = layer.hidden(step, at);
    return layer.relu && sum < T{0} ? T{0} : sum;  // keeps NaN
  }
  __device__ static constexpr T taken(std::int64_t, T value) { return value; }
  __device__ static constexpr T weight(int) { return T{1}; }
  __device__ T finish(std::int64_t step, std::int64_t, T sum) const {
    return sum / static_cast<T>(min(window, step + 1));
  }
};

template <class T>
struct BackwardRule {
  Layer<T> layer;
  const T* __restrict__ dy;
  std::int64_t window, slab;

  __device__ T value(std::int64_t step, std::int64_t at) const { return dy[step * slab + at]; }
  __device__ T taken(std::int64_t step, T value) const { return value / static_cast<T>(min(window, step + 1)); }
  __device__ static constexpr T weight(int) { return T{1}; }
  __device__ T finish(std::int64_t step, std::int64_t at, T sum) const {
    return !layer.relu || layer.hidden(step, at) > T{0} ? sum : T{0};
  }
};

void run_forward(const DenseMTransform& op, KernelContext& context) {
  if (op.steps == 0) return;
  const Timeline time = timeline(op.steps, op.y.elements() / op.steps, op.window, false, false);
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const ForwardRule<T> rule{layer_of<DenseMTransform, T>(op), time.window};
    launch_slide<T, window_limit>(context, time, rule, op.y.data<T>());
  });
}

template <class T>
void backward(const DenseMTransformBackward& op, const KernelContext& context) {
  const Timeline time = timeline(op.steps, op.dy.elements() / op.steps, op.window, true, false);
  const RowParts ranges = weight_ranges(op.x.rows(), op.w.rows(), op.w.columns());
  const std::size_t dz_bytes = scratch_part(op.dy.elements(), sizeof(T));
  std::byte* const scratch = context.scratch(dz_bytes + scratch_part(ranges.count * op.w.elements(), sizeof(double)));
  T* const dz = reinterpret_cast<T*>(scratch);
  const BackwardRule<T> rule{layer_of<DenseMTransformBackward, T>(op), op.dy.data<T>(), time.window, time.slab};
  launch_slide<T, window_limit>(context, time, rule, dz);
  const WeightTerms<T> terms{op.x.data<T>(), dz, nullptr, op.x.columns(), op.w.columns()};
  tiled_weight_gradient<T>(context, terms, ranges, reinterpret_cast<double*>(scratch + dz_bytes), op.dw.data<T>());
}

void run_backward(const DenseMTransformBackward& op, KernelContext& context) {
  if (op.steps == 0) return;
  with_element(op.dy.type(), [&](auto zero) { backward<decltype(zero)>(op, context); });
}

bool is_short(std::int64_t window, std::int64_t steps) { return window <= window_limit || steps <= window_limit; }

bool supports_forward(const DenseMTransform& op) { return is_short(op.window, op.steps); }
bool supports_backward(const DenseMTransformBackward& op) {
  return is_short(op.window, op.steps) && takes_tiles(op.x.columns(), op.w.columns());
}

const RegisterKernel<DenseMTransform> sliding{"cuda", {"sliding", 10, supports_forward, run_forward}};
const RegisterKernel<DenseMTransformBackward> sliding_backward{"cuda",
                                                               {"sliding", 10, supports_backward, run_backward}};

}  // namespace dense_m_transform_sliding_kernels
}  // namespace strobe::cuda
