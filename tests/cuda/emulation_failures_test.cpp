// An operation that fails closes the profiler's range and the events of its span, and a device leaves none open for the
// next one. The emulation counts both. Compiled against the emulation only.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/cuda/cuda_device.hpp"
#include "backends/cuda/emulated/open_handles.hpp"
#include "backends/cuda/kernel_language.hpp"
#include "core/errors.hpp"

namespace strobe::cuda {
namespace {

/// More scratch memory than there is.
struct TooMuchScratch {
  static constexpr std::string_view name = "too_much_scratch";
  Work work() const { return {}; }
};
void run_too_much_scratch(const TooMuchScratch&, KernelContext& context) { context.scratch(std::size_t{1} << 50); }
const RegisterKernel<TooMuchScratch> too_much_scratch{"cuda", {"plain", 0, nullptr, run_too_much_scratch}};

/// Requests more scratch memory than there is, and continues without it.
struct NeedsNoScratch {
  static constexpr std::string_view name = "needs_no_scratch";
  Work work() const { return {}; }
};
void run_needs_no_scratch(const NeedsNoScratch&, KernelContext& context) {
  EXPECT_THROW(context.scratch(std::size_t{1} << 50), OutOfMemory);
}
const RegisterKernel<NeedsNoScratch> needs_no_scratch{"cuda", {"plain", 0, nullptr, run_needs_no_scratch}};

/// A launch of more threads than a block can have.
struct TooManyThreads {
  static constexpr std::string_view name = "too_many_threads";
  Work work() const { return {}; }
};
__global__ void nothing(int) {}
void run_too_many_threads(const TooManyThreads&, KernelContext& context) { launch(context, 1, 2000, 0, nothing, 1); }
const RegisterKernel<TooManyThreads> too_many_threads{"cuda", {"plain", 0, nullptr, run_too_many_threads}};

class EmulationFailures : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<CudaDevice> make() const { return std::make_unique<CudaDevice>(DeviceRequest{}, GetParam()); }
};

TEST_P(EmulationFailures, AFailedOperationEndsItsRangeAndKeepsNoEvent) {
  const int events = emulated::live_events();
  ASSERT_EQ(emulated::open_ranges(), 0);
  {
    const std::unique_ptr<CudaDevice> device = make();
    device->synchronize();
    const Tensor y = device->allocate(8, 4);
    int after_first = 0;
    for (int i = 0; i < 10; ++i) {
      EXPECT_THROW(device->run(TooMuchScratch{}), OutOfMemory);
      EXPECT_EQ(emulated::open_ranges(), 0) << "failure " << i;
      device->run(Fill{y, 1.0});
      EXPECT_EQ(emulated::open_ranges(), 0);
      device->synchronize();
      if (i == 0) after_first = emulated::live_events();
    }
    EXPECT_EQ(emulated::live_events(), after_first) << "later operations reuse the events of a failed one";
    ASSERT_EQ(device->spans().size(), 10u);
    for (const Span& span : device->spans().spans()) EXPECT_LT(span.begin_seconds, span.end_seconds);
  }
  EXPECT_EQ(emulated::live_events(), events);
}

TEST(EmulationStretch, ContinuesAfterAnOperationThatWaitedForMemory) {
  const std::unique_ptr<CudaDevice> device = std::make_unique<CudaDevice>(DeviceRequest{}, true);
  device->time_each_operation(false);
  const Tensor y = device->allocate(8, 4);
  device->synchronize();
  const std::uint64_t nodes = device->graph_counts().nodes;
  device->run(NeedsNoScratch{});  // launches the gathered kernels, so that their memory can be used
  device->run(Fill{y, 1.0});
  device->synchronize();
  EXPECT_EQ(device->graph_counts().nodes - nodes, 3u) << "the stretch's two events and a kernel";
  ASSERT_EQ(device->spans().size(), 2u);
  for (const Span& span : device->spans().spans()) EXPECT_LT(span.begin_seconds, span.end_seconds);
}

TEST_P(EmulationFailures, AFailureThatNothingFollowsLeavesNoEvent) {
  const int events = emulated::live_events();
  {
    const std::unique_ptr<CudaDevice> device = make();
    EXPECT_THROW(device->run(TooMuchScratch{}), OutOfMemory);
  }
  EXPECT_EQ(emulated::live_events(), events);
  EXPECT_EQ(emulated::open_ranges(), 0);
}

TEST_P(EmulationFailures, ALaunchThatIsRefusedLeavesNoEvent) {
  const int events = emulated::live_events();
  {
    const std::unique_ptr<CudaDevice> device = make();
    const Tensor y = device->allocate(8, 4);
    const std::vector<float> values(32, 1.0f);
    const auto move_in = [&] { device->stream_in(values.data(), y); };
    for (int i = 0; i < 3; ++i) {
      if (GetParam()) {
        device->run(TooManyThreads{});
        EXPECT_THROW(move_in(), SystemError) << "the copy launches what was gathered";
      } else {
        EXPECT_THROW(device->run(TooManyThreads{}), SystemError);
      }
      EXPECT_EQ(emulated::open_ranges(), 0);
      move_in();
    }
  }
  EXPECT_EQ(emulated::live_events(), events);
}

TEST_P(EmulationFailures, ADeviceBeginsAndEndsWithNothingIdleInThePool) {
  Tensor late;
  {
    const std::unique_ptr<CudaDevice> device = make();
    late = device->allocate(8, 4);
    (void)device->allocate(8, 4);
  }
  EXPECT_EQ(emulated::idle_allocations(), 0) << "at the device's end";
  late = Tensor();
  ASSERT_EQ(emulated::idle_allocations(), 1);
  const std::unique_ptr<CudaDevice> next = make();
  EXPECT_EQ(emulated::idle_allocations(), 0) << "of a tensor that outlived its device";
}

INSTANTIATE_TEST_SUITE_P(All, EmulationFailures, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "graphs" : "launches"; });

}  // namespace
}  // namespace strobe::cuda
