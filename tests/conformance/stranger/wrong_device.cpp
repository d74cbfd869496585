// A stranger's device with two faults: an addition that leaves out its last row, and values that are filled in a little
// beyond what rounding explains.
#include "backends/cpu/cpu_device.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

const Numerics wrong{"wrong", "cpu"};

constexpr double beyond_rounding = 1 + 2e-5;  // the cases allow 1e-5 in fp32

void add_without_last_row(const AddScaled& op, KernelContext&) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < op.y.elements() - op.y.columns(); ++i)
      op.y.data<T>()[i] += static_cast<T>(op.scale) * op.x.data<T>()[i];
  });
}

void fill_a_little_more(const Fill& op, KernelContext&) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < op.y.elements(); ++i) op.y.data<T>()[i] = static_cast<T>(op.value * beyond_rounding);
  });
}

const RegisterKernel<AddScaled> short_addition{wrong, {"short", 50, nullptr, add_without_last_row}};
const RegisterKernel<Fill> inexact_fill{wrong, {"inexact", 50, nullptr, fill_a_little_more}};

const Register<DeviceTag> registered{{
    "wrong",
    "cpu with two faults",
    "docs/howto/own_backend.md",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> {
       return std::make_unique<CpuDevice>(request, wrong);
     },
     "", wrong, true},
    {},
}};

}  // namespace
}  // namespace strobe
