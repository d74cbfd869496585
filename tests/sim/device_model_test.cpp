// Device sim: host issue interval, links shared by GPUs, pageable memory, contention, rounding of allocations.
#include <gtest/gtest.h>

#include "sim_support.hpp"

namespace strobe {
namespace {

using sim_test::request_for;
using sim_test::round_cluster;
using sim_test::simulate;
using sim_test::work_of_bytes;

TEST(HostIssue, SmallOperationsAreBoundByTheHost) {
  const auto time_of = [](double issue_seconds, int operations, std::int64_t bytes) {
    Cluster c = round_cluster();
    c.gpu.host_issue_seconds = issue_seconds;
    return simulate(request_for(c, 1),
                    [&](Device& device, Communicator&) {
                      for (int i = 0; i < operations; ++i) work_of_bytes(device, bytes);
                    })
        .slowest();
  };
  EXPECT_NEAR(time_of(-1, 100, 4), 100e-6, 1e-12);  // as long as a launch
  EXPECT_NEAR(time_of(20e-6, 100, 4), 100 * 20e-6, 1e-12);
  EXPECT_NEAR(time_of(20e-6, 100, 10000000), 100 * 100e-6, 1e-12);  // hidden behind 100 us each
  EXPECT_NEAR(time_of(0, 100, 4), 100e-6, 1e-12);
}

TEST(HostIssue, AnOperationEndsWhenItsWorkDoesNotWhenTheNextIsIssued) {
  Cluster c = round_cluster();
  c.gpu.host_issue_seconds = 1e-3;
  const auto outcome = simulate(request_for(c, 1), [](Device& device, Communicator&) {
    for (int i = 0; i < 3; ++i) work_of_bytes(device, 1000000);  // 1e-5 s each
  });
  int operations = 0;
  for (const Span& span : outcome.spans[0]) {
    if (span.stream != Stream::compute) continue;
    EXPECT_NEAR(span.begin_seconds, operations++ * 1e-3, 1e-12);
    EXPECT_NEAR(span.end_seconds - span.begin_seconds, 1e-5, 1e-12);
  }
  EXPECT_EQ(operations, 3);
}

TEST(HostLink, GpusOfASwitchShareItsLink) {
  Cluster c = round_cluster();
  c.gpus_per_host_link = 4;
  c.host_link_bytes_per_second = 2e10;
  EXPECT_EQ(sim::host_rate(c, 0, 1), 1e10);  // alone: its own rate
  EXPECT_EQ(sim::host_rate(c, 0, 2), 1e10);  // two of 1e10 fit
  EXPECT_EQ(sim::host_rate(c, 1, 4), 5e9);   // four share 2e10
  EXPECT_EQ(sim::host_rate(c, 4, 5), 1e10);  // alone on the second link
  EXPECT_EQ(sim::host_rate(c, 7, 8), 5e9);
  EXPECT_EQ(sim::host_rate(c, 12, 14), 1e10);  // second node, second link, two of them
  EXPECT_EQ(sim::host_rate(round_cluster(), 7, 8), 1e10);
  const auto copy = [](Device& device, Communicator&) { device.move_in(nullptr, 250000, 1, ElementType::f32); };
  EXPECT_NEAR(simulate(request_for(c, 8), copy).slowest(), 1e-5 + 1e6 / 5e9, 1e-12);
  EXPECT_NEAR(simulate(request_for(round_cluster(), 8), copy).slowest(), 1e-5 + 1e6 / 1e10, 1e-12);
}

TEST(HostLink, PageableMemoryHasItsOwnRate) {
  Cluster c = round_cluster();
  c.host_to_device_pageable_bytes_per_second = 4e9;
  EXPECT_EQ(sim::host_rate(c, 0, 1), 1e10);
  c.pageable_host_memory = true;
  EXPECT_EQ(sim::host_rate(c, 0, 1), 4e9);
  EXPECT_GT(simulate(request_for(*load_cluster("aimos-v100:host_memory=pageable"), 1),
                     [](Device& device, Communicator&) { device.move_in(nullptr, 1 << 20, 1, ElementType::f32); })
                .slowest(),
            4194304 / 6.25e9);
}

TEST(HostLink, NothingIsCopiedWhereMemoryIsTheHosts) {
  Cluster c = round_cluster();
  c.shared_host_memory = true;
  c.gpu.stores_transpose = true;
  c.gpu.narrow_bytes = 32;
  const auto outcome = simulate(request_for(c, 2), [](Device& device, Communicator&) {
    EXPECT_FALSE(device.has_own_memory());
    EXPECT_FALSE(device.wants_joined_inputs());
    EXPECT_TRUE(device.wants_transpose());
    EXPECT_EQ(device.narrow_bytes(), 32);
    device.move_in(nullptr, 250000, 1, ElementType::f32);
  });
  EXPECT_EQ(outcome.slowest(), 0.0);
  EXPECT_TRUE(outcome.spans[0].empty());
}

double beside_exchange(double factor, std::int64_t compute_bytes, std::int64_t rows) {
  Cluster c = round_cluster();
  c.compute_slowdown_factor = factor;
  return simulate(request_for(c, 4),
                  [&](Device& device, Communicator& communicator) {
                    Request request;
                    if (rows > 0)
                      request = sim_test::start_exchange(device, communicator, [&](int, int) { return rows; });
                    if (compute_bytes > 0) work_of_bytes(device, compute_bytes);
                    if (rows > 0) communicator.wait(request);
                  })
      .slowest();
}

TEST(Contention, ComputeDuringACollectiveIsSlower) {
  const double exchange = beside_exchange(1.5, 0, 1000000);  // 122 us when it runs alone
  EXPECT_NEAR(exchange, 2e-6 + 3 * 4e6 / 1e11, 1e-12);
  EXPECT_NEAR(beside_exchange(1.5, 10000000, 0), 100e-6, 1e-12);
  // 60 us of compute take 90 us at the same time and stay hidden.
  EXPECT_NEAR(beside_exchange(1.5, 6000000, 1000000), exchange, 1e-12);
  // 100 us take 150 us alone with it; of the first 122 us two thirds are done, the rest runs at full speed.
  EXPECT_NEAR(beside_exchange(1.5, 10000000, 1000000), exchange + (100e-6 - exchange / 1.5), 1e-12);
  // Without contention the longer one decides.
  EXPECT_NEAR(beside_exchange(1.0, 20000000, 1000000), 200e-6, 1e-12);
  EXPECT_NEAR(beside_exchange(1.5, 20000000, 1000000), 200e-6 + exchange * (1 - 1 / 1.5), 1e-12);
}

TEST(Contention, PhasesStillAddUp) {
  Cluster c = round_cluster();
  c.compute_slowdown_factor = 1.3;
  const auto outcome = simulate(request_for(c, 6), [](Device& device, Communicator& communicator) {
    for (int round = 0; round < 4; ++round) {
      Request request =
          sim_test::start_exchange(device, communicator, [&](int p, int q) { return 10000 * (1 + p + q + round); });
      work_of_bytes(device, 4000000 * (1 + communicator.rank()));
      communicator.wait(request);
    }
  });
  double contention = 0;
  for (std::size_t r = 0; r < outcome.spans.size(); ++r) {
    double covered = 0;
    for (const Span& span : outcome.spans[r]) {
      if (span.blocking) covered += span.end_seconds - span.begin_seconds;
      if (span.name == "contention") contention += span.end_seconds - span.begin_seconds;
    }
    EXPECT_NEAR(covered, outcome.seconds[r], 1e-9) << "rank " << r;
  }
  EXPECT_GT(contention, 0.0);
}

TEST(Allocation, RoundsAsThePoolDoes) {
  Cluster c = round_cluster();
  c.gpu.allocation_bytes = 512;
  simulate(request_for(c, 1), [](Device& device, Communicator&) {
    const Tensor one = device.allocate(1, 1);
    EXPECT_EQ(device.live_bytes(), 512u);
    {
      const Tensor more = device.allocate(129, 1);  // 516 bytes
      EXPECT_EQ(device.live_bytes(), 512u + 1024u);
    }
    EXPECT_EQ(device.live_bytes(), 512u);
    EXPECT_EQ(device.peak_bytes(), 1536u);
  });
}

TEST(Allocation, LimitIsWholeBlocksWithoutContextAndBuffers) {
  Cluster c = round_cluster();
  c.gpu.communication_buffer_bytes = 400000000;
  const auto limit_of = [&](int ranks) {
    std::uint64_t limit = 0;
    simulate(request_for(c, ranks), [&](Device& device, Communicator&) { limit = device.memory_limit_bytes(); });
    return limit;
  };
  EXPECT_EQ(limit_of(1), 1000000000u);  // alone: no communication buffers
  EXPECT_EQ(limit_of(2), 600000000u);
  c.gpu.allocation_block_bytes = 1 << 20;
  EXPECT_EQ(limit_of(2), 572u << 20);
}

TEST(Memory, OperationsRecordTheMemoryInUse) {
  const auto outcome = simulate(request_for(round_cluster(), 1), [](Device& device, Communicator&) {
    const Tensor small = device.allocate(1000, 1);
    device.run(Fill{small, 0.0});
    const Tensor large = device.allocate(9000, 1);
    device.run(Fill{large, 0.0});
  });
  ASSERT_EQ(outcome.spans[0].size(), 2u);
  EXPECT_EQ(outcome.spans[0][0].live_bytes, 4000u);
  EXPECT_EQ(outcome.spans[0][1].live_bytes, 40000u);
}

}  // namespace
}  // namespace strobe
