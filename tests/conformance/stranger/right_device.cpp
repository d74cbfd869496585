// A stranger's device: cpu with an addition of its own.
#include "backends/cpu/cpu_device.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

const Numerics stranger{"stranger", "cpu"};

void add_rows(const AddScaled& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::for_ranges(context, op.y.elements(), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) op.y.data<T>()[i] += static_cast<T>(op.scale) * op.x.data<T>()[i];
    });
  });
}

const RegisterKernel<AddScaled> own_addition{stranger, {"own", 50, nullptr, add_rows}};

const Register<DeviceTag> registered{{
    "stranger",
    "cpu with an addition of its own",
    "docs/howto/own_backend.md",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> {
       return std::make_unique<CpuDevice>(request, stranger);
     },
     "", stranger, true},
    {},
}};

}  // namespace
}  // namespace strobe
