// Plain graph convolution y = activation((A x) w): per row the aggregation, kept in `aggregated` when asked for, then
// its product with w. No tensor of A x is needed otherwise. Cost 2 F (nnz + R G) FLOPs.
#include <vector>

#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 512;

template <class T>
void convolve_rows(const GraphConvolution& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t* offsets = op.a.row_offsets.data<std::int64_t>();
  const std::int32_t* indices = op.a.column_indices.data<std::int32_t>();
  const T* values = op.a.values.data<T>();
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const T* w = op.w.data<T>();
  std::vector<T> sum(inner);
  for (std::int64_t r = begin; r < end; ++r) {
    std::fill(sum.begin(), sum.end(), T{0});
    for (std::int64_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      const T* source = op.x.data<T>() + static_cast<std::int64_t>(indices[k]) * inner;
      for (std::int64_t f = 0; f < inner; ++f) sum[f] += values[k] * source[f];
    }
    if (op.aggregated.defined()) std::copy(sum.begin(), sum.end(), op.aggregated.data<T>() + r * inner);
    T* y = op.y.data<T>() + r * width;
    std::fill(y, y + width, T{0});
    for (std::int64_t f = 0; f < inner; ++f) {
      for (std::int64_t g = 0; g < width; ++g) y[g] += sum[f] * w[f * width + g];
    }
    if (op.activation == Activation::relu) {
      for (std::int64_t g = 0; g < width; ++g) y[g] = y[g] < T{0} ? T{0} : y[g];  // keeps NaN
    }
  }
}

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    cpu::for_ranges(context, op.a.rows, rows_per_task,
                    [&](std::int64_t begin, std::int64_t end) { convolve_rows<decltype(zero)>(op, begin, end); });
  });
}

const RegisterKernel<GraphConvolution> plain{"cpu", {"plain", 0, nullptr, run_graph_convolution}};

}  // namespace
}  // namespace strobe
