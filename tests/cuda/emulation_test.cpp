// The emulation must be able to say no: what it is stricter in than a GPU is found. Compiled against the emulation
// only.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
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

TEST(Emulation, ABarrierSeparatesWhatIsBeforeFromWhatIsBehind) {
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
  // It goes on with the next kernel.
  int runs = 0;
  run_grid(nullptr, 1, 32, 0, [&] {
    __syncthreads();
    ++runs;
  });
  EXPECT_EQ(runs, 32);
}

TEST(Emulation, RefusesBlocksThatNoGpuRuns) {
  EXPECT_THROW(run_grid(nullptr, 1, 1025, 0, [] {}), Error);
  EXPECT_THROW(run_grid(nullptr, 1, 32, std::size_t{1} << 20, [] {}), Error);
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
