// Registers device `cpu`.
#include "backends/cpu/cpu_device.hpp"

namespace strobe {
namespace {

const Register<DeviceTag> registered{{
    "cpu",
    "real numerics on this machine's cores, wall clock",
    "Strobe design: numerics cpu, clock wall",
    {},
    {[](const DeviceRequest& request) -> std::unique_ptr<Device> { return std::make_unique<CpuDevice>(request); }, "",
     "cpu", true},
    {},
}};

}  // namespace
}  // namespace strobe
