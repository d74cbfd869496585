// Plain functions of every value by itself and their gradients: arithmetic in double, one rounding. Cost: at most one
// exponential per value.
#include <cmath>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_pointwise.hpp"

namespace strobe {
namespace {

double curve_value(Curve curve, double x, double p, double q) {
  switch (curve) {
    case Curve::affine:
      return p * x + q;
    case Curve::sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Curve::leaky_relu:
      return x > 0 ? x : p * x;
    case Curve::elu:
      return x > 0 ? x : p * std::expm1(x);
  }
  return x;
}

/// The slope where the curve's result is y. A leaky_relu with p < 0 has positive results on both sides, so p >= 0.
double curve_slope(Curve curve, double y, double p) {
  switch (curve) {
    case Curve::affine:
      return p;
    case Curve::sigmoid:
      return y * (1.0 - y);
    case Curve::leaky_relu:
      return y > 0 ? 1.0 : p;
    case Curve::elu:
      return y > 0 ? 1.0 : y + p;
  }
  return 0;
}

/// Calls body(T{}, i) for every value of `tensor`, whose type is T.
template <class Body>
void over_points(const Tensor& tensor, const KernelContext& context, const Body& body) {
  constexpr std::int64_t points_per_task = 1 << 14;
  cpu::with_element(tensor.type(), [&](auto zero) {
    cpu::for_ranges(context, tensor.elements(), points_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(zero, i);
    });
  });
}

void run_pointwise(const Pointwise& op, KernelContext& context) {
  over_points(op.x, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    op.y.data<T>()[i] = static_cast<T>(curve_value(op.curve, static_cast<double>(op.x.data<T>()[i]), op.p, op.q));
  });
}

void run_pointwise_backward(const PointwiseBackward& op, KernelContext& context) {
  over_points(op.y, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    const double slope = curve_slope(op.curve, static_cast<double>(op.y.data<T>()[i]), op.p);
    T& dx = op.dx.data<T>()[i];
    const double before = op.accumulate ? static_cast<double>(dx) : 0.0;
    dx = static_cast<T>(before + static_cast<double>(op.dy.data<T>()[i]) * slope);
  });
}

void run_multiply(const Multiply& op, KernelContext& context) {
  over_points(op.y, context, [&](auto zero, std::int64_t i) {
    using T = decltype(zero);
    const T product = op.x.data<T>()[i] * op.z.data<T>()[i];
    T& y = op.y.data<T>()[i];
    y = op.accumulate ? y + product : product;
  });
}

const RegisterKernel<Pointwise> plain_pointwise{"cpu", {"plain", 0, nullptr, run_pointwise}};
const RegisterKernel<PointwiseBackward> plain_pointwise_backward{"cpu", {"plain", 0, nullptr, run_pointwise_backward}};
const RegisterKernel<Multiply> plain_multiply{"cpu", {"plain", 0, nullptr, run_multiply}};

}  // namespace
}  // namespace strobe
