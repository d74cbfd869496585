// With its guard on, which the tests of training have, the emulation's device memory is out of the host's reach.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cuda/emulated/device_memory.hpp"

namespace strobe::cuda::emulated {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(EmulationDeathTest, TheHostCannotReadDeviceMemory) {
  if (std::getenv("STROBE_GUARD_EMULATED_MEMORY") == nullptr) GTEST_SKIP() << "device memory is not guarded here";
  std::byte* const memory = allocate_device(64);
  ASSERT_NE(memory, nullptr);
  EXPECT_DEATH(
      {
        volatile std::byte value = *memory;
        (void)value;
      },
      "");
  release_device(memory);
}
#endif

}  // namespace
}  // namespace strobe::cuda::emulated
