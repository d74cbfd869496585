// Two properties of the emulation alone: its guard (on in the tests of training) keeps device memory out of the host's
// reach, and its GPUs may lack links between them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/communicator.hpp"
#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/operations/operations.hpp"
#include "core/errors.hpp"

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

TEST(EmulationWithoutLinks, CommunicatorLocalSaysWhatToDo) {
  LaunchRequest request;
  request.ranks = 2;
  request.timeout_seconds = 20;
  request.make_device = DeviceRegistry::instance().find("cuda").value;
  const auto add_up = [](Device& device, Communicator& communicator) {
    const Tensor tensor = device.allocate(8, 1, ElementType::f32);
    device.run(Fill{tensor, 1.0});
    communicator.all_reduce(tensor, Traffic::gradient);
  };
  const auto launch = [&] { CommunicatorRegistry::instance().find("local").value.launch(request, add_up); };
  ::setenv("STROBE_EMULATED_WITHOUT_LINKS", "1", 1);
  try {
    launch();
    ADD_FAILURE() << "the memory of a GPU out of reach was added up";
  } catch (const Unavailable& refused) {
    EXPECT_NE(std::string(refused.what()).find("--comm nccl"), std::string::npos) << refused.what();
  }
  ::unsetenv("STROBE_EMULATED_WITHOUT_LINKS");
  EXPECT_NO_THROW(launch());
}

}  // namespace
}  // namespace strobe::cuda::emulated
