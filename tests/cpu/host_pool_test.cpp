// The pools of host memory: what is kept for the next epoch, and how much of it.
#include "backends/cpu/host_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "backends/device.hpp"
#include "core/system/process_memory.hpp"

namespace strobe {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr int rank = 1000;  // no device of these tests has it

/// An epoch whose sizes peak one after the other: one block of each size, never two at once.
std::vector<std::byte*> one_after_the_other(HostPool& pool, const std::vector<std::size_t>& sizes) {
  std::vector<std::byte*> blocks;
  for (const std::size_t bytes : sizes) {
    blocks.push_back(pool.allocate(bytes));
    EXPECT_NE(blocks.back(), nullptr);
    HostPool::release(blocks.back());
  }
  return blocks;
}

TEST(HostPool, KeepsSizesThatPeakAtDifferentTimes) {
  HostPool& pool = HostPool::of_rank(rank);
  pool.trim();
  const std::vector<std::size_t> sizes = {10 * mib, 12 * mib};
  const std::vector<std::byte*> first = one_after_the_other(pool, sizes);
  EXPECT_GE(pool.cached_bytes(), 22 * mib);
  EXPECT_EQ(one_after_the_other(pool, sizes), first);
  pool.trim();
  EXPECT_EQ(pool.cached_bytes(), 0u);
}

TEST(HostPool, KeepsAtMostTwiceThePeak) {
  HostPool& pool = HostPool::of_rank(rank);
  pool.trim();
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 10; ++i) sizes.push_back((10 + i) * mib);
  one_after_the_other(pool, sizes);
  EXPECT_LE(pool.cached_bytes(), 2 * 20 * mib);
  EXPECT_GE(pool.cached_bytes(), 19 * mib);
  std::byte* const in_use = pool.allocate(64 * mib);
  HostPool::release(pool.allocate(2 * mib));
  EXPECT_LE(pool.cached_bytes(), (2 * 87 - 64) * mib);  // in use and kept together
  HostPool::release(in_use);
  pool.trim();
}

/// In use and kept together, whatever the order of sizes.
TEST(HostPool, KeepsNoMoreThanThePeakWhereMemoryIsSpared) {
  spare_process_memory(true);
  HostPool& pool = HostPool::of_rank(rank);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    pool.trim();
    std::mt19937 draw(seed);
    std::vector<std::pair<std::byte*, std::size_t>> live;
    std::size_t in_use = 0, peak = 0;
    for (int i = 0; i < 200; ++i) {
      if (live.size() < 8 && draw() % 2 == 0) {
        const std::size_t bytes = (1 + draw() % 16) * (mib / 2);
        live.emplace_back(pool.allocate(bytes), bytes);
        in_use += bytes + 2 * 4096;  // a header, and whole pages
        peak = std::max(peak, in_use + (std::size_t{64} << 10) * live.size());
      } else if (!live.empty()) {
        std::swap(live[draw() % live.size()], live.back());
        HostPool::release(live.back().first);
        in_use -= live.back().second + 2 * 4096;
        live.pop_back();
      }
      ASSERT_LE(in_use + pool.cached_bytes(), peak) << seed;
    }
    for (const auto& [block, bytes] : live) HostPool::release(block);
  }
  pool.trim();
  spare_process_memory(false);
}

TEST(HostPool, MemoryOfOneRankIsNotGivenToAnother) {
  HostPool& mine = HostPool::of_rank(rank);
  HostPool& other = HostPool::of_rank(rank + 1);
  EXPECT_EQ(&mine, &HostPool::of_rank(rank));
  mine.trim();
  other.trim();
  std::byte* const block = mine.allocate(3 * mib);
  std::thread([block] { HostPool::release(block); }).join();  // as a rank does that received it
  EXPECT_GE(mine.cached_bytes(), 3 * mib);
  EXPECT_EQ(other.cached_bytes(), 0u);
  std::byte* const others = other.allocate(3 * mib);
  EXPECT_NE(others, block);
  EXPECT_EQ(mine.allocate(3 * mib), block);
  HostPool::release(block);
  HostPool::release(others);
  HostPool::trim_all();
  EXPECT_EQ(mine.cached_bytes() + other.cached_bytes(), 0u);
}

TEST(HostPool, AFreshBlockHasAllItsPages) {
  HostPool& pool = HostPool::of_rank(rank);
  pool.trim();
  const std::size_t page = sysconf(_SC_PAGESIZE);
  for (const std::size_t bytes : {std::size_t{300} << 10, 3 * mib, 40 * mib}) {
    const std::uint64_t before = HostPool::fresh_blocks();
    std::byte* const block = pool.allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(HostPool::fresh_blocks(), before + 1);
    const auto first = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
    const std::size_t whole = (reinterpret_cast<std::uintptr_t>(block) + bytes - first) / page;
    std::vector<unsigned char> present(whole);
    ASSERT_EQ(mincore(reinterpret_cast<void*>(first), whole * page, present.data()), 0);
    std::size_t missing = 0;
    for (const unsigned char flags : present) missing += (flags & 1) == 0;
    EXPECT_EQ(missing, 0u) << bytes;
    HostPool::release(block);
  }
  pool.trim();
}

/// A device that ends while devices of other ranks go on.
TEST(HostPool, KeepsNothingAfterItsLastDevice) {
  const auto device_of = [](int rank) {
    DeviceRequest request;
    request.rank = rank;
    return DeviceRegistry::instance().find("cpu").value(request);
  };
  const std::unique_ptr<Device> other = device_of(91);
  HostPool& pool = HostPool::of_rank(92);
  std::unique_ptr<Device> first = device_of(92), second = device_of(92);
  first->allocate(1 << 20, 1);
  EXPECT_GT(pool.cached_bytes(), std::size_t{1} << 20);
  first.reset();
  EXPECT_GT(pool.cached_bytes(), std::size_t{1} << 20) << "another device uses it";
  second.reset();
  EXPECT_EQ(pool.cached_bytes(), 0U);
}

}  // namespace
}  // namespace strobe
