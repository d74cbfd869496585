// Device cpu: the conformance suite of host work and transfers ahead, with one worker and with several.
#include "tests/conformance/collectives/host_work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backends/host/host_work.hpp"
#include "core/system/parallel.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> cpu_with(int host_threads) {
  DeviceRequest request;
  request.host_threads = host_threads;
  return DeviceRegistry::instance().find("cpu").value(request);
}

class HostWorkOnCpu : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, HostWorkOnCpu, testing::Values(1, 3), testing::PrintToStringParamName());

TEST_P(HostWorkOnCpu, PassesTheConformanceSuite) {
  for (const conformance::DeviceCase& c : conformance::host_cases()) {
    EXPECT_NO_THROW(c.program(*cpu_with(GetParam()))) << c.name;
  }
}

TEST_P(HostWorkOnCpu, HasTheWorkersThatWereAskedFor) {
  const std::unique_ptr<Device> device = cpu_with(GetParam());
  int workers = 0;
  HostWork work;
  work.body = [&workers](Workers& all) { workers = all.threads(); };
  device->await(device->run_on_host(std::move(work)));
  EXPECT_EQ(workers, GetParam());
}

TEST_P(HostWorkOnCpu, IsNextToComputeInTheTrace) { conformance::check_overlap(*cpu_with(GetParam())); }

TEST(HostWork, RunsAtTheSameTimeAsTheProgram) {
  const std::unique_ptr<Device> device = cpu_with(1);
  std::atomic<bool> go{false};
  HostWork work;
  work.name = "waits";
  work.body = [&go](Workers&) {
    while (!go) std::this_thread::yield();
  };
  const DeviceEvent event = device->run_on_host(std::move(work));
  EXPECT_FALSE(device->reached(event));
  go = true;
  device->await(event);
  EXPECT_TRUE(device->reached(event));
}

TEST(HostWork, WorkThatHasNotBegunIsDroppedWithItsDevice) {
  std::atomic<int> begun{0};
  {
    const std::unique_ptr<Device> device = cpu_with(1);
    for (int i = 0; i < 100; ++i) {
      HostWork work;
      work.body = [&begun](Workers&) {
        ++begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      };
      device->run_on_host(std::move(work));
    }
  }
  EXPECT_LT(begun, 100);
}

TEST(HostWork, TransferMemoryCountsAsTheHosts) {
  const std::unique_ptr<Device> device = cpu_with(1);
  const std::uint64_t before = device->live_bytes();
  {
    const HostMemory memory = device->allocate_host(1 << 20);
    EXPECT_EQ(device->live_bytes() - before, 1u << 20);
    EXPECT_EQ(memory.slice(16, 8).data<std::byte>(), memory.raw() + 16);
    EXPECT_THROW(memory.slice(1 << 20, 1), Error);
  }
  EXPECT_EQ(device->live_bytes(), before);
}

}  // namespace
}  // namespace strobe
