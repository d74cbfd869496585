// Plain dense layer on listed rows, and its gradient. Forward: one thread an element of y. Backward: one thread for
// every weight (and bias) of every range of samples, which sums in double, and a last launch that adds the ranges in
// order; rows may be named several times, so their gradients are added by one thread a column, which walks the samples
// in order: slow and always the same. Programs on a GPU gather rows and go on with the dense layer
// (Device::wants_joined_inputs), for which there are fast kernels. Ranges depend on shapes only. Cost 2 S K F G FLOPs a
// product; rows are read G times, mostly from the cache.
#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_gather.hpp"

namespace strobe::cuda {
namespace gathered_dense_plain_kernels {

constexpr int threads = 256;

/// The lists; every kernel walks them in their order.
struct RowLists {
  const std::int64_t* list[most_row_lists];
  std::int64_t count, inner;  // lists, columns of x
};

template <class T>
struct GatheredLayer {
  const T *x, *w, *bias, *dy;
  T *y, *dx;
  std::int64_t samples, width;
};

template <class T>
__global__ void gathered_dense(RowLists rows, GatheredLayer<T> p) {
  for (std::int64_t i = grid_thread(); i < p.samples * p.width; i += grid_threads()) {
    const std::int64_t sample = i / p.width, g = i % p.width;
    T sum = p.bias != nullptr ? p.bias[g] : T{0};
    const T* w = p.w + g;
    for (std::int64_t k = 0; k < rows.count; ++k) {
      const T* x = p.x + rows.list[k][sample] * rows.inner;
      for (std::int64_t f = 0; f < rows.inner; ++f, w += p.width) sum += x[f] * *w;
    }
    p.y[i] = sum;
  }
}

template <class T>
__global__ void gathered_row_gradients(RowLists rows, GatheredLayer<T> p) {
  for (std::int64_t f = grid_thread(); f < rows.inner; f += grid_threads()) {
    for (std::int64_t i = 0; i < p.samples; ++i) {
      for (std::int64_t k = 0; k < rows.count; ++k) {
        const T* w = p.w + (k * rows.inner + f) * p.width;
        T sum{0};
        for (std::int64_t g = 0; g < p.width; ++g) sum += p.dy[i * p.width + g] * w[g];
        p.dx[rows.list[k][i] * rows.inner + f] += sum;
      }
    }
  }
}

/// sums[range][weight], followed by a range's sums of dbias.
template <class T>
__global__ void gathered_weight_sums(RowLists rows, GatheredLayer<T> p, RowParts ranges, std::int64_t stride,
                                     double* sums) {
  for (std::int64_t i = grid_thread(); i < ranges.count * stride; i += grid_threads()) {
    const std::int64_t range = i / stride, row = i % stride / p.width, g = i % p.width;
    const std::int64_t k = row / rows.inner, f = row % rows.inner;
    double sum = 0;
    for (std::int64_t s = ranges.begin(range); s < ranges.end(range); ++s) {
      const double x = k < rows.count ? static_cast<double>(p.x[rows.list[k][s] * rows.inner + f]) : 1.0;
      sum += x * static_cast<double>(p.dy[s * p.width + g]);
    }
    sums[i] = sum;
  }
}

RowLists row_lists(const Tensor& x, const std::vector<Tensor>& rows) {
  if (rows.size() > most_row_lists) throw Error("a dense layer on listed rows takes at most 4 lists");
  RowLists lists{{}, static_cast<std::int64_t>(rows.size()), x.columns()};
  for (std::size_t k = 0; k < rows.size(); ++k) lists.list[k] = rows[k].data<std::int64_t>();
  return lists;
}

void run_forward(const GatheredDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const GatheredLayer<T> layer{op.x.data<T>(), op.w.data<T>(), op.bias.data<T>(), nullptr,
                                 op.y.data<T>(), nullptr,        op.y.rows(),       op.y.columns()};
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, gathered_dense<T>, row_lists(op.x, op.rows),
           layer);
  });
}

template <class T>
void run_backward_as(const GatheredDenseBackward& op, KernelContext& context) {
  const std::int64_t samples = op.dy.rows(), stride = op.w.elements() + op.w.columns();
  const RowParts ranges = row_parts(samples, stride, 256);
  if (ranges.count == 0) return;
  const RowLists rows = row_lists(op.x, op.rows);
  const GatheredLayer<T> layer{op.x.data<T>(), op.w.data<T>(),  nullptr, op.dy.data<T>(),
                               nullptr,        op.dx.data<T>(), samples, op.w.columns()};
  double* const sums = part_sums_memory(context, ranges.count, stride);
  launch(context, blocks_for(ranges.count * stride, threads), threads, 0, gathered_weight_sums<T>, rows, layer, ranges,
         stride, sums);
  add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, ranges.count, stride);
  if (op.dx.defined()) launch(context, blocks_for(rows.inner, 32), 32, 0, gathered_row_gradients<T>, rows, layer);
}

void run_backward(const GatheredDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GatheredDense> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GatheredDenseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace gathered_dense_plain_kernels
}  // namespace strobe::cuda
