// Plain sparse product of a dense layer's output, and its gradients, by the definitions: one entry after the other, the
// layer's output computed for each. Gradients are sums over the rows in their order, in double; a layer per step makes
// the steps tasks. Cost: forward 2 (F + 1) G FLOPs per entry, backward about twice that.
#include <vector>

#include "backends/cpu/kernels/sparse/gather.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// x_c w + bias before the activation, in column g of the layer of step `step`.
template <class T, class Op>
T layer_value(const Op& op, std::int64_t step, std::int64_t c, std::int64_t g) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const T* w = op.w.template data<T>() + step * inner * width;
  T z = op.bias.defined() ? op.bias.template data<T>()[g] : T{0};
  for (std::int64_t f = 0; f < inner; ++f) z += op.x.template data<T>()[c * inner + f] * w[f * width + g];
  return z;
}

/// Calls body(step, first row, last row) for every step as tasks; without steps all rows are of step 0.
template <class Op, class Body>
void for_steps(const Op& op, const KernelContext& context, const Body& body) {
  if (!op.step_rows.defined()) return body(0, std::int64_t{0}, op.a.rows);
  const std::int64_t* rows = op.step_rows.template data<std::int64_t>();
  run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { body(t, rows[t], rows[t + 1]); });
}

template <class T>
void forward_rows(const SpmmOfDense& op, std::int64_t step, std::int64_t begin, std::int64_t end) {
  const CompressedView<T> a = compressed<T>(op.a);
  const std::int64_t width = op.y.columns();
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t g = 0; g < width; ++g) {
      T sum{0};
      for (std::int64_t k = a.offsets[r]; k < a.offsets[r + 1]; ++k) {
        const T z = layer_value<T>(op, step, a.indices[k], g);
        sum += a.values[k] * (op.activation == Activation::relu && z < T{0} ? T{0} : z);  // keeps NaN
      }
      op.y.data<T>()[r * width + g] = sum;
    }
  }
}

void run_forward(const SpmmOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    for_steps(op, context, [&](std::int64_t step, std::int64_t begin, std::int64_t end) {
      forward_rows<decltype(zero)>(op, step, begin, end);
    });
  });
}

/// Adds the entries of row r, times dy, to sums [F + 1, G]: those of w, then those of the bias.
template <class T>
void add_row(const SpmmOfDenseBackward& op, std::int64_t step, std::int64_t r, std::vector<double>& sums) {
  const CompressedView<T> a = compressed<T>(op.a);
  const std::int64_t inner = op.x.columns(), width = op.dy.columns();
  for (std::int64_t k = a.offsets[r]; k < a.offsets[r + 1]; ++k) {
    for (std::int64_t g = 0; g < width; ++g) {
      if (op.activation == Activation::relu && !(layer_value<T>(op, step, a.indices[k], g) > T{0})) continue;
      const double part = static_cast<double>(a.values[k]) * static_cast<double>(op.dy.data<T>()[r * width + g]);
      for (std::int64_t f = 0; f < inner; ++f)
        sums[f * width + g] += part * static_cast<double>(op.x.data<T>()[a.indices[k] * inner + f]);
      sums[inner * width + g] += part;
    }
  }
}

template <class T>
void backward_step(const SpmmOfDenseBackward& op, std::int64_t step, std::int64_t begin, std::int64_t end) {
  const std::int64_t weights = op.x.columns() * op.dy.columns(), width = op.dy.columns();
  std::vector<double> sums(weights + width, 0.0);
  for (std::int64_t r = begin; r < end; ++r) add_row<T>(op, step, r, sums);
  T* dw = op.dw.data<T>() + step * weights;
  for (std::int64_t i = 0; i < weights; ++i) {
    const double before = op.accumulate_dw ? static_cast<double>(dw[i]) : 0.0;
    dw[i] = static_cast<T>(before + sums[i]);
  }
  for (std::int64_t g = 0; op.dbias.defined() && g < width; ++g) {
    T& target = op.dbias.data<T>()[g];
    target = static_cast<T>(static_cast<double>(target) + sums[weights + g]);
  }
}

void run_backward(const SpmmOfDenseBackward& op, KernelContext& context) {
  // A bias is of all steps: one after the other.
  const KernelContext alone{};
  with_element(op.dy.type(), [&](auto zero) {
    for_steps(op, op.dbias.defined() ? alone : context, [&](std::int64_t step, std::int64_t begin, std::int64_t end) {
      backward_step<decltype(zero)>(op, step, begin, end);
    });
  });
}

const RegisterKernel<SpmmOfDense> forward{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<SpmmOfDenseBackward> backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
