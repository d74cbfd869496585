// Tells other code which register size the cpu kernels were compiled for.
#pragma once

#include <cstdint>

namespace strobe {

/// Bytes of a vector register of the kernels' instruction set: 64, 32 or 16.
std::int64_t cpu_register_bytes();

}  // namespace strobe
