// Dense layer under an M-transform for short windows: a task holds one range of vertices over all steps. Forward, the
// layer's output of the last `window` steps stays in a ring in the first-level cache and never reaches memory;
// backward, it is computed again from x, which is narrow, to know where the activation let values through. Every h is
// the sum of the same terms in the same order in both directions. dw is summed in the element type over one step of a
// range and in double over steps and ranges; ranges depend on shapes only. Cost 2 T n F G FLOPs (twice backward) and w
// T n G additions; x read once, y written (dy read) once.
#include <vector>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/time/window_sum.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Vertices per task: the window's rows, what goes in and what comes out share the first-level cache.
std::int64_t range_vertices(std::int64_t window, std::uint64_t row_bytes) {
  constexpr std::int64_t cache_bytes = 1 << 15;
  const std::int64_t bytes = (window + 3) * static_cast<std::int64_t>(row_bytes);
  return std::clamp<std::int64_t>(cache_bytes / std::max<std::int64_t>(1, bytes) / 16 * 16, 16, 1024);
}

/// h [rows, G] = activation(x [rows, F] w).
template <class T>
void layer_output(const T* x, const Tensor& w, std::int64_t rows, Activation activation, T* h) {
  const std::int64_t inner = w.rows(), width = w.columns();
  multiply(Factors<T>{x, inner, 1, w.data<T>(), width, inner}, rows, width,
           ProductStore<T>{.to = h, .stride = width, .with_relu = activation == Activation::relu});
}

template <class T>
void forward_range(const DenseMTransform& op, std::int64_t n, std::int64_t begin, std::int64_t count) {
  const std::int64_t width = op.w.columns(), inner = op.w.rows(), size = count * width;
  std::vector<T> ring(op.window * size + most_lanes<T>);
  for (std::int64_t t = 0; t < op.steps; ++t) {
    layer_output(op.x.data<T>() + (t * n + begin) * inner, op.w, count, op.activation,
                 ring.data() + t % op.window * size);
    const std::int64_t first = std::max<std::int64_t>(0, t - op.window + 1);
    Window<T> window{};
    for (std::int64_t s = first; s <= t; ++s) {
      window.in[s - first] = ring.data() + s % op.window * size;
      window.weight[s - first] = T{1};
    }
    const T* ahead = op.x.data<T>() + (std::min(t + 1, op.steps - 1) * n + begin) * inner;
    sum_window_of<T, false>(static_cast<int>(t - first + 1), window, T{1} / static_cast<T>(t - first + 1),
                            op.y.data<T>() + (t * n + begin) * width, size, ahead);
  }
}

/// dz of one step of a range: the gradient of the following window, where h let it through.
template <class T>
void step_gradient(const DenseMTransformBackward& op, std::int64_t n, std::int64_t begin, std::int64_t count,
                   std::int64_t t, T* h, T* dz) {
  const std::int64_t width = op.w.columns(), inner = op.w.rows(), size = count * width;
  const std::int64_t last = std::min(op.steps - 1, t + op.window - 1);
  Window<T> window{};
  for (std::int64_t s = last; s >= t; --s) {
    window.in[last - s] = op.dy.data<T>() + (s * n + begin) * width;
    window.weight[last - s] = T{1} / static_cast<T>(std::min(op.window, s + 1));
  }
  const T* ahead = op.dy.data<T>() + (std::max<std::int64_t>(0, t - 1) * n + begin) * width;
  sum_window_of<T, false>(static_cast<int>(last - t + 1), window, T{1}, dz, size, ahead);
  if (op.activation == Activation::none) return;
  layer_output(op.x.data<T>() + (t * n + begin) * inner, op.w, count, op.activation, h);
  for (std::int64_t i = 0; i < size; ++i) dz[i] = h[i] > T{0} ? dz[i] : T{0};
}

template <class T>
void backward_range(const DenseMTransformBackward& op, std::int64_t n, std::int64_t begin, std::int64_t count,
                    double* sums) {
  const std::int64_t width = op.w.columns(), inner = op.w.rows();
  const std::size_t size = count * width + most_lanes<T>;
  std::vector<T> h(size), dz(size, T{0});
  for (std::int64_t t = op.steps - 1; t >= 0; --t) {
    step_gradient(op, n, begin, count, t, h.data(), dz.data());
    const T* x = op.x.data<T>() + (t * n + begin) * inner;
    multiply(Factors<T>{x, 1, inner, dz.data(), width, count}, inner, width, ProductSums{sums, width});
  }
}

/// Calls body(first vertex, vertices, index) for each range of vertices; `n` vertices a step.
template <class Body>
void for_vertices(const KernelContext& context, std::int64_t n, std::int64_t grain, const Body& body) {
  for_ranges(context, n, grain, [&](std::int64_t begin, std::int64_t end) { body(begin, end - begin, begin / grain); });
}

void run_forward(const DenseMTransform& op, KernelContext& context) {
  if (op.y.elements() == 0) return;
  const std::int64_t n = op.y.rows() / op.steps;
  with_element(op.y.type(), [&](auto zero) {
    for_vertices(context, n, range_vertices(op.window, op.y.row_bytes()),
                 [&](std::int64_t begin, std::int64_t count, std::int64_t) {
                   forward_range<decltype(zero)>(op, n, begin, count);
                 });
  });
}

void run_backward(const DenseMTransformBackward& op, KernelContext& context) {
  if (op.dy.elements() == 0) return;
  const std::int64_t n = op.dy.rows() / op.steps, stride = op.w.elements();
  const std::int64_t grain = range_vertices(op.window, op.dy.row_bytes());
  std::vector<double> sums(divide_up(n, grain) * stride, 0.0);
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    for_vertices(context, n, grain, [&](std::int64_t begin, std::int64_t count, std::int64_t range) {
      backward_range<T>(op, n, begin, count, sums.data() + range * stride);
    });
    add_range_sums<T>(op.dw, sums, 0, stride);
  });
}

static_assert(DenseMTransform::longest_window <= most_summed_anew);

const RegisterKernel<DenseMTransform> vector{
    "cpu", {"vector", 10, [](const DenseMTransform& op) { return op.window <= most_summed_anew; }, run_forward}};
const RegisterKernel<DenseMTransformBackward> vector_backward{
    "cpu",
    {"vector", 10, [](const DenseMTransformBackward& op) { return op.window <= most_summed_anew; }, run_backward}};

}  // namespace
}  // namespace strobe
