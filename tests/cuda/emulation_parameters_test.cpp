// Parameters of gathered launches are compared as bytes, so they may hold no bytes outside their members. Compiled
// against the emulation only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/cuda/gathered_launches.hpp"
#include "backends/cuda/kernel_language.hpp"

namespace strobe::cuda {
namespace {

struct Padded {
  std::int64_t first;
  std::int8_t last;
};
__global__ void take_padded(Padded) {}

TEST(EmulationParameters, WhatLiesBetweenMembersIsNoDifference) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
  GatheredLaunches gathered(nullptr);
  for (const int garbage : {0x00, 0xff, 0x55}) {
    Padded value;
    std::memset(static_cast<void*>(&value), garbage, sizeof value);
    value.first = 7;
    value.last = 3;
    std::byte written[sizeof value];
    write_parameter(written, value);
    EXPECT_EQ(std::count(written + 9, written + sizeof value, std::byte{0}), 7) << garbage;
    gather(gathered, take_padded, 1, 32, 0, value);
    gathered.launch();
    gathered.begin_anew();
  }
  EXPECT_EQ(gathered.counts().launches, 3u);
  EXPECT_EQ(gathered.counts().changed_nodes, 0u);
  return;
#endif
#endif
  GTEST_SKIP() << "this compiler cannot clear them";
}

}  // namespace
}  // namespace strobe::cuda
