// Plain dense layer on listed rows and its gradient: the definitions, sample by sample on one thread, so that rows that
// are named again are added to in the order of the samples; dw and dbias in double. Cost 2 S K F G FLOPs a product.
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_gather.hpp"

namespace strobe {
namespace {

void run_gathered_dense(const GatheredDense& op, KernelContext& context) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::for_ranges(context, op.y.rows(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t g = 0; g < width; ++g) {
          T sum = op.bias.defined() ? op.bias.data<T>()[g] : T{0};
          const T* w = op.w.data<T>() + g;
          for (const Tensor& list : op.rows) {
            const T* x = op.x.data<T>() + list.data<std::int64_t>()[i] * inner;
            for (std::int64_t f = 0; f < inner; ++f, w += width) sum += x[f] * *w;
          }
          op.y.data<T>()[i * width + g] = sum;
        }
      }
    });
  });
}

template <class T>
void add_sample(const GatheredDenseBackward& op, std::int64_t i, std::vector<double>& sums) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const T* dy = op.dy.data<T>() + i * width;
  const T* w = op.w.data<T>();
  double* dw = sums.data();
  for (const Tensor& list : op.rows) {
    const std::int64_t row = list.data<std::int64_t>()[i];
    for (std::int64_t f = 0; f < inner; ++f, w += width, dw += width) {
      T sum{0};
      for (std::int64_t g = 0; g < width; ++g) {
        sum += dy[g] * w[g];
        dw[g] += static_cast<double>(op.x.data<T>()[row * inner + f]) * static_cast<double>(dy[g]);
      }
      if (op.dx.defined()) op.dx.data<T>()[row * inner + f] += sum;
    }
  }
  for (std::int64_t g = 0; g < width; ++g) dw[g] += static_cast<double>(dy[g]);
}

void run_gathered_dense_backward(const GatheredDenseBackward& op, KernelContext&) {
  const std::int64_t weights = op.w.elements(), width = op.w.columns();
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> sums(weights + width, 0.0);
    for (std::int64_t i = 0; i < op.dy.rows(); ++i) add_sample<T>(op, i, sums);
    for (std::int64_t k = 0; k < weights; ++k) op.dw.data<T>()[k] += static_cast<T>(sums[k]);
    if (!op.dbias.defined()) return;
    for (std::int64_t g = 0; g < width; ++g) op.dbias.data<T>()[g] += static_cast<T>(sums[weights + g]);
  });
}

const RegisterKernel<GatheredDense> plain{"cpu", {"plain", 0, nullptr, run_gathered_dense}};
const RegisterKernel<GatheredDenseBackward> backward_plain{"cpu", {"plain", 0, nullptr, run_gathered_dense_backward}};

}  // namespace
}  // namespace strobe
