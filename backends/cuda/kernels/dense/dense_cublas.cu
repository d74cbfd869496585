// Dense layer by cuBLAS where both widths are 256 or more: y = x w, then bias and activation in a second launch when
// there are any. cuBLAS is column-major, so it is asked for the transposed product y^T = w^T x^T, whose operands are
// the row-major matrices as they lie. Narrower layers keep to kernels of their own, which a graph of launches can hold.
// Cost: the product, and y read and written once more.
#include "backends/cuda/blas.hpp"
#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace dense_cublas_kernels {

template <class T>
__global__ void finish(T* y, const T* bias, std::int64_t n, std::int64_t width, bool relu) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    T value = y[i];
    if (bias != nullptr) value += bias[i % width];
    if (relu && value < T{0}) value = T{0};  // NaN stays
    y[i] = value;
  }
}

bool supports(const Dense& op) {
  constexpr std::int64_t least_width = 256, most_rows = (std::int64_t{1} << 31) - 1;
  return op.x.columns() >= least_width && op.w.columns() >= least_width && op.x.rows() > 0 && op.x.rows() <= most_rows;
}

void run_dense(const Dense& op, KernelContext& context) {
  constexpr int threads = 256;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const int rows = static_cast<int>(op.x.rows()), inner = static_cast<int>(op.x.columns()),
              width = static_cast<int>(op.w.columns());
    runtime::gemm(stream_for_library(context), width, rows, inner, op.w.data<T>(), width, op.x.data<T>(), inner, T{0},
                  op.y.data<T>(), width);
    const bool relu = op.activation == Activation::relu;
    if (!op.bias.defined() && !relu) return;
    const std::int64_t n = op.y.elements();
    launch(context, blocks_for(n, threads), threads, 0, finish<T>, op.y.data<T>(), op.bias.data<T>(), n, op.w.columns(),
           relu);
  });
}

const RegisterKernel<Dense> cublas{"cuda", {"cublas", 30, supports, run_dense}};

}  // namespace dense_cublas_kernels
}  // namespace strobe::cuda
