// The emulation must refuse faults, also those that a GPU would accept. Compiled against the emulation only.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/emulated/device_memory.hpp"
#include "backends/cuda/emulated/language.hpp"
#include "core/errors.hpp"

namespace strobe::cuda::emulated {
namespace {

TEST(Emulation, EveryThreadOfEveryBlockRuns) {
  for (const Order order : {Order::forward, Order::backward}) {
    set_order(order);
    std::vector<int> seen(3 * 96, 0);
    run_grid(nullptr, 3, 96, 0, [&] { ++seen[blockIdx.x * blockDim.x + threadIdx.x]; });
    EXPECT_EQ(seen, std::vector<int>(3 * 96, 1));
  }
  set_order(Order::forward);
}

TEST(Emulation, ABarrierSeparatesWritesBeforeItFromReadsAfterIt) {
  std::vector<int> before(64, 0), sums(64, 0);
  run_grid(nullptr, 1, 64, 0, [&] {
    const unsigned thread = threadIdx.x;
    before[thread] = static_cast<int>(thread);
    __syncthreads();
    for (const int value : before) sums[thread] += value;
    __syncthreads();
    before[thread] = -1;
  });
  EXPECT_EQ(sums, std::vector<int>(64, 63 * 64 / 2));
}

TEST(Emulation, WarpPrimitivesExchangeBetweenLanes) {
  std::vector<int> across(64), down(64), from(64);
  std::vector<unsigned> votes(64);
  run_grid(nullptr, 1, 64, 0, [&] {
    const unsigned thread = threadIdx.x;
    across[thread] = __shfl_xor_sync(0xffffffffu, static_cast<int>(thread), 5);
    down[thread] = __shfl_down_sync(0xffffffffu, static_cast<int>(thread), 8);
    from[thread] = __shfl_sync(0xffffffffu, static_cast<int>(thread), 3);
    votes[thread] = __ballot_sync(0xffffffffu, thread % 3 == 0);
  });
  for (unsigned thread = 0; thread < 64; ++thread) {
    const unsigned first = thread / 32 * 32, lane = thread % 32;
    EXPECT_EQ(across[thread], static_cast<int>(first + (lane ^ 5u)));
    EXPECT_EQ(down[thread], static_cast<int>(lane + 8 < 32 ? thread + 8 : thread));
    EXPECT_EQ(from[thread], static_cast<int>(first + 3));
    for (unsigned other = 0; other < 32; ++other) EXPECT_EQ(votes[thread] >> other & 1u, (first + other) % 3 == 0);
  }
}

TEST(Emulation, RefusesABarrierThatSomeThreadsNeverReach) {
  EXPECT_THROW(run_grid(nullptr, 1, 64, 0,
                        [&] {
                          if (threadIdx.x < 40) __syncthreads();
                        }),
               Error);
  EXPECT_THROW(run_grid(nullptr, 1, 64, 0,
                        [&] {
                          if (threadIdx.x != 7) __syncwarp();
                        }),
               Error);
  // The next kernel runs.
  int runs = 0;
  run_grid(nullptr, 1, 32, 0, [&] {
    __syncthreads();
    ++runs;
  });
  EXPECT_EQ(runs, 32);
}

/// The error message of a launch, or "" when it ran.
std::string answer_to(std::int64_t blocks, int threads, std::size_t shared_bytes, const std::function<void()>& kernel) {
  try {
    run_grid(nullptr, blocks, threads, shared_bytes, kernel);
  } catch (const SystemError& refused) {
    return refused.what();
  }
  return "";
}

TEST(Emulation, RefusesGridsThatNoGpuRuns) {
  const auto nothing = [] {};
  for (const auto& [blocks, threads] : std::vector<std::pair<std::int64_t, int>>{{1, 1025},
                                                                                 {1, 0},
                                                                                 {1, -1},
                                                                                 {0, 32},
                                                                                 {-1, 32},
                                                                                 {std::int64_t{1} << 31, 32},
                                                                                 {(std::int64_t{1} << 32) + 1, 32}}) {
    EXPECT_NE(answer_to(blocks, threads, 0, nothing).find("cudaErrorInvalidConfiguration"), std::string::npos)
        << blocks << " blocks of " << threads;
  }
  EXPECT_EQ(answer_to(1, 1024, 0, nothing), "");
}

TEST(Emulation, SharedMemoryBeyond48KibIsRefusedStaticAndDynamicTogether) {
  constexpr std::size_t bound = 48 * 1024;
  const auto nothing = [] {};
  const auto with_an_array = [] {
    STROBE_SHARED(double[512], values);
    values[threadIdx.x] = 1;
  };
  EXPECT_EQ(answer_to(1, 32, bound, nothing), "");
  EXPECT_NE(answer_to(1, 32, bound + 1, nothing).find("cudaErrorInvalidValue"), std::string::npos);
  EXPECT_EQ(answer_to(2, 32, bound - 4096, with_an_array), "");
  EXPECT_NE(answer_to(1, 32, bound - 4095, with_an_array).find("cudaErrorInvalidValue"), std::string::npos);
  EXPECT_EQ(answer_to(1, 32, bound, nothing), "") << "of another kernel's launch, static memory does not count";
}

TEST(Emulation, SharedMemoryIsGarbageWithEveryBlock) {
  std::vector<double> found_static, found_dynamic;
  std::vector<int> agreed;
  run_grid(nullptr, 3, 64, 64 * sizeof(double), [&] {
    STROBE_SHARED(double[64], values);
    auto* const dynamic = reinterpret_cast<double*>(shared_memory());
    const unsigned thread = threadIdx.x;
    found_static.push_back(values[thread]);
    found_dynamic.push_back(dynamic[thread]);
    values[thread] = dynamic[thread] = static_cast<double>(thread);
    __syncthreads();
    agreed.push_back(values[63 - thread] == 63 - thread ? 1 : 0);
  });
  ASSERT_EQ(found_static.size(), 3u * 64u);
  for (const double value : found_static) EXPECT_TRUE(std::isnan(value));
  for (const double value : found_dynamic) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(agreed, std::vector<int>(3 * 64, 1)) << "the block's threads share it";
}

TEST(Emulation, ThreadOrderShowsWhatDependsOnIt) {
  const auto last = [](Order order) {
    set_order(order);
    unsigned value = 0;
    run_grid(nullptr, 2, 32, 0, [&] { value = blockIdx.x * 32 + threadIdx.x; });  // a race
    set_order(Order::forward);
    return value;
  };
  EXPECT_NE(last(Order::forward), last(Order::backward));
}

TEST(Emulation, MemoryBeginsAsNanAndRoomIsUsedAgain) {
  std::byte* const first = allocate_device(1000);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(is_device(first + 999));
  EXPECT_FALSE(is_device(first + 1000));
  EXPECT_FALSE(is_device(&first));
  {
    const DeviceAccess access;
    EXPECT_TRUE(std::isnan(reinterpret_cast<const double*>(first)[3]));
  }
  release_device(first);
  EXPECT_FALSE(is_device(first));
  EXPECT_EQ(allocate_device(std::size_t{1} << 50), nullptr);
}

}  // namespace
}  // namespace strobe::cuda::emulated
