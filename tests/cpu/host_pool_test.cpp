// The pool of host memory: what is kept for the next epoch, and how much of it.
#include "backends/cpu/host_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strobe {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// An epoch whose sizes peak one after the other: one block of each size, never two at once.
std::vector<std::byte*> one_after_the_other(const std::vector<std::size_t>& sizes) {
  std::vector<std::byte*> blocks;
  for (const std::size_t bytes : sizes) {
    blocks.push_back(host_pool_allocate(bytes));
    EXPECT_NE(blocks.back(), nullptr);
    host_pool_release(blocks.back());
  }
  return blocks;
}

TEST(HostPool, KeepsSizesThatPeakAtDifferentTimes) {
  host_pool_trim();
  const std::vector<std::size_t> sizes = {10 * mib, 12 * mib};
  const std::vector<std::byte*> first = one_after_the_other(sizes);
  EXPECT_GE(host_pool_cached_bytes(), 22 * mib);
  EXPECT_EQ(one_after_the_other(sizes), first);
  host_pool_trim();
  EXPECT_EQ(host_pool_cached_bytes(), 0u);
}

TEST(HostPool, KeepsAtMostTwiceThePeak) {
  host_pool_trim();
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 10; ++i) sizes.push_back((10 + i) * mib);
  one_after_the_other(sizes);
  EXPECT_LE(host_pool_cached_bytes(), 2 * 20 * mib);
  EXPECT_GE(host_pool_cached_bytes(), 19 * mib);
  std::byte* const in_use = host_pool_allocate(64 * mib);
  host_pool_release(host_pool_allocate(2 * mib));
  EXPECT_LE(host_pool_cached_bytes(), (2 * 87 - 64) * mib);  // in use and kept together
  host_pool_release(in_use);
  host_pool_trim();
}

}  // namespace
}  // namespace strobe
