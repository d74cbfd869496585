// Device cuda: the conformance suite of host work and transfers ahead, with and without graphs.
#include "tests/conformance/collectives/host_work.hpp"

#include <gtest/gtest.h>

#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

class HostWorkOnCuda : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, HostWorkOnCuda, testing::Values("cuda", "cuda-graphs"),
                         [](const auto& test) { return std::string(test.param) == "cuda" ? "plain" : "graphs"; });

TEST_P(HostWorkOnCuda, PassesTheConformanceSuite) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  for (const conformance::DeviceCase& c : conformance::host_cases()) {
    EXPECT_NO_THROW(c.program(*DeviceRegistry::instance().find(GetParam()).value(DeviceRequest{}))) << c.name;
  }
}

TEST_P(HostWorkOnCuda, OverlapsComputeInTheTrace) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  conformance::check_overlap(*DeviceRegistry::instance().find(GetParam()).value(DeviceRequest{}));
}

TEST_P(HostWorkOnCuda, PinnedMemoryIsTheHosts) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  const auto device = DeviceRegistry::instance().find(GetParam()).value(DeviceRequest{});
  const std::uint64_t before = device->live_bytes();
  const HostMemory memory = device->allocate_host(4096);
  EXPECT_EQ(device->live_bytes(), before);
  EXPECT_EQ(device->host_peak_bytes(), 4096u);
}

}  // namespace
}  // namespace strobe
