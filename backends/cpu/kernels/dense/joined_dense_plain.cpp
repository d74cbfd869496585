// Plain dense layer of parts side by side, and its gradient: as the plain dense layer, part by part. dw and dbias are
// summed in double over at most 64 equal row ranges, which depend on the rows only.
// Cost 2 R F G FLOPs per product.
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

constexpr std::int64_t rows_per_task = 1024, most_partial_sums = 64;

template <class T>
void forward_rows(const JoinedDense& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = op.w.columns();
  const T* bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  for (std::int64_t r = begin; r < end; ++r) {
    T* y = op.y.data<T>() + r * width;
    for (std::int64_t g = 0; g < width; ++g) y[g] = bias != nullptr ? bias[g] : T{0};
    const T* w = op.w.data<T>();
    for (const Tensor& part : op.parts) {
      for (std::int64_t c = 0; c < part.columns(); ++c, w += width) {
        const T x = part.data<T>()[r * part.columns() + c];
        for (std::int64_t g = 0; g < width; ++g) y[g] += x * w[g];
      }
    }
  }
}

/// The gradient of one value of a part, which meets the weights w [G], and its terms of dw, added to sums [G].
template <class T>
T value_gradient(T x, const T* w, const T* dy, std::int64_t width, double* sums) {
  T product{0};
  for (std::int64_t g = 0; g < width; ++g) {
    product += dy[g] * w[g];
    sums[g] += static_cast<double>(x) * static_cast<double>(dy[g]);
  }
  return product;
}

/// Writes dparts of rows [begin, end), and adds their part of dw [F, G] and dbias [G] to `sums` [(F + 1) G].
template <class T>
void backward_rows(const JoinedDenseBackward& op, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t width = op.w.columns();
  for (std::int64_t r = begin; r < end; ++r) {
    const T* dy = op.dy.data<T>() + r * width;
    std::int64_t row = 0;  // of w
    for (std::size_t i = 0; i < op.parts.size(); ++i) {
      const std::int64_t columns = op.parts[i].columns();
      for (std::int64_t c = 0; c < columns; ++c, ++row) {
        const T dx = value_gradient(op.parts[i].data<T>()[r * columns + c], op.w.data<T>() + row * width, dy, width,
                                    sums + row * width);
        if (!op.dparts[i].defined()) continue;
        T& target = op.dparts[i].data<T>()[r * columns + c];
        target = op.accumulate[i] ? target + dx : dx;
      }
    }
    for (std::int64_t g = 0; g < width; ++g) sums[row * width + g] += static_cast<double>(dy[g]);
  }
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    cpu::for_ranges(context, op.y.rows(), rows_per_task,
                    [&](std::int64_t begin, std::int64_t end) { forward_rows<decltype(zero)>(op, begin, end); });
  });
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows();
  const std::int64_t grain = std::max(std::int64_t{256}, cpu::divide_up(rows, most_partial_sums));
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::add_weight_gradients<T>(
        context, rows, grain, op.dw, op.w.elements(), op.dbias, op.w.columns(),
        [&](std::int64_t begin, std::int64_t end, double* sums) { backward_rows<T>(op, begin, end, sums); });
  });
}

const RegisterKernel<JoinedDense> plain{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward_plain{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
