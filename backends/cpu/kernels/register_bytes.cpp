#include "backends/cpu/register_bytes.hpp"

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe {

std::int64_t cpu_register_bytes() { return cpu::register_bytes; }

}  // namespace strobe
