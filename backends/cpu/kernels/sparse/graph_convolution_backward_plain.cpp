// The judge of the graph convolution's gradient: row by row, ds = dz w^T, dw in double and in order of rows, dx by
// adding a_ij ds_i to row j. One thread. Cost 2 F (nnz + 2 R G) FLOPs.
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

/// ds of row `row`, and its part of dw added to `sums` [F, G].
template <class T>
void row_gradient(const GraphConvolutionBackward& op, std::int64_t row, std::vector<double>& ds,
                  std::vector<double>& sums) {
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  std::fill(ds.begin(), ds.end(), 0.0);
  for (std::int64_t g = 0; g < width; ++g) {
    if (op.activation == Activation::relu && !(op.y.data<T>()[row * width + g] > T{0})) continue;
    const double dz = op.dy.data<T>()[row * width + g];
    for (std::int64_t f = 0; f < inner; ++f) {
      ds[f] += dz * static_cast<double>(op.w.data<T>()[f * width + g]);
      sums[f * width + g] += dz * static_cast<double>(op.aggregated.data<T>()[row * inner + f]);
    }
  }
}

template <class T>
void backward(const GraphConvolutionBackward& op) {
  const std::int64_t inner = op.w.rows();
  std::vector<double> ds(inner), sums(static_cast<std::size_t>(op.w.elements()), 0.0);
  std::vector<double> dx(op.dx.elements(), 0.0);
  for (std::int64_t row = 0; row < op.a.rows; ++row) {
    row_gradient<T>(op, row, ds, sums);
    for (std::int64_t k = op.a.row_offsets.data<std::int64_t>()[row];
         k < op.a.row_offsets.data<std::int64_t>()[row + 1]; ++k) {
      const double value = op.a.values.data<T>()[k];
      double* to = dx.data() + op.a.column_indices.data<std::int32_t>()[k] * inner;
      for (std::int64_t f = 0; f < inner; ++f) to[f] += value * ds[f];
    }
  }
  for (std::int64_t i = 0; i < op.dx.elements(); ++i) {
    T& out = op.dx.data<T>()[i];
    const double before = op.accumulate_dx ? static_cast<double>(out) : 0.0;
    out = static_cast<T>(before + dx[i]);
  }
  cpu::add_range_sums<T>(op.dw, sums, 0, op.w.elements());
}

void run(const GraphConvolutionBackward& op, KernelContext&) {
  cpu::with_element(op.dx.type(), [&](auto zero) { backward<decltype(zero)>(op); });
}

const RegisterKernel<GraphConvolutionBackward> plain{"cpu", {"plain", 0, nullptr, run}};

}  // namespace
}  // namespace strobe
