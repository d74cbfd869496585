// Device sim: the roofline, streams and events, copies, overlap with collectives, and memory.
#include <gtest/gtest.h>

#include <limits>

#include "backends/sim/cost/operation_cost.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim_test::Outcome;
using sim_test::request_for;
using sim_test::round_cluster;
using sim_test::simulate;
using sim_test::work_of_bytes;

double blocking_seconds(const std::vector<Span>& spans, Phase phase) {
  double total = 0;
  for (const Span& span : spans) {
    if (span.blocking && span.phase == phase) total += span.end_seconds - span.begin_seconds;
  }
  return total;
}

TEST(SimDevice, OneOperationTakesItsRoofline) {
  const GpuModel gpu = round_cluster().gpu;
  // [1000, 200] x [200, 300]: 1.2e8 flops, 2.24e6 bytes in fp32: 120 us by compute, 22.4 us by bandwidth.
  const auto outcome = simulate(request_for(round_cluster(), 1), [](Device& device, Communicator&) {
    device.run(Dense{device.allocate(1000, 200), device.allocate(200, 300), {}, device.allocate(1000, 300)});
    device.run(AddScaled{device.allocate(1000, 1000), device.allocate(1000, 1000)});  // 12e6 bytes: 120 us
    device.run(Fill{device.allocate(1, 1), 0.0});                                     // 4 bytes: one launch
  });
  const std::vector<Span>& spans = outcome.spans[0];
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_NEAR(spans[0].end_seconds, 120e-6, 1e-12);
  EXPECT_NEAR(spans[1].end_seconds - spans[1].begin_seconds, 120e-6, 1e-12);
  EXPECT_NEAR(spans[2].end_seconds - spans[2].begin_seconds, 1e-6, 1e-12);
  EXPECT_NEAR(outcome.seconds[0], 241e-6, 1e-12);
  EXPECT_EQ(sim::roofline_seconds(gpu, {1e12, 0, 0}, ElementType::f64), 2.0);
  EXPECT_EQ(sim::roofline_seconds(gpu, {1e12, 0, 0}, ElementType::f32), 1.0);
}

TEST(SimDevice, StreamsRunAtTheSameTimeAndEventsOrderThem) {
  simulate(request_for(round_cluster(), 1), [](Device& device, Communicator&) {
    const auto fill = [&](Stream stream) { device.run(Fill{device.allocate(25000000, 1), 0.0}, stream); };  // 1 ms
    fill(Stream::compute);
    fill(Stream::copy);
    EXPECT_NEAR(device.now(), 1e-3, 1e-12);
    const DeviceEvent copied = device.record(Stream::copy);
    EXPECT_NEAR(copied.seconds, 1e-3 + 1e-6, 1e-12);  // the host issued it one launch later
    device.wait(Stream::compute, copied);
    EXPECT_EQ(device.now(), copied.seconds);
    fill(Stream::copy);
    EXPECT_EQ(device.now(), copied.seconds);
    device.synchronize();
    EXPECT_NEAR(device.now(), 2e-3 + 1e-6, 1e-12);
  });
}

TEST(SimDevice, ComputeStallsOnlyForThePartOfACopyThatIsNotHidden) {
  // 1e6 bytes: 10 us + 100 us. After 50 us of compute that was issued before, 60 us remain.
  const auto outcome = simulate(request_for(round_cluster(), 1), [](Device& device, Communicator&) {
    work_of_bytes(device, 5000000);
    const Tensor moved = device.move_in(nullptr, 250000, 1, ElementType::f32);
    EXPECT_EQ(device.live_bytes(), 1000000u);
    EXPECT_FALSE(device.move_out(moved, nullptr));
  });
  const std::vector<Span>& spans = outcome.spans[0];
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_TRUE(spans[1].blocking);
  EXPECT_EQ(spans[1].phase, Phase::transfer);
  EXPECT_EQ(spans[1].transfer_bytes, 1000000u);
  EXPECT_NEAR(spans[1].begin_seconds, 50e-6, 1e-12);
  EXPECT_NEAR(spans[1].end_seconds, 111e-6, 1e-12);  // issued one launch after the operation
  EXPECT_FALSE(spans[2].blocking);
  EXPECT_EQ(spans[2].transfer_bytes, 0u);
  EXPECT_NEAR(spans[2].begin_seconds, 1e-6, 1e-12);
  EXPECT_NEAR(spans[3].end_seconds - spans[3].begin_seconds, 110e-6, 1e-12);
}

TEST(SimDevice, BlockingPhasesAddUpToTheTime) {
  const auto outcome = simulate(request_for(round_cluster(), 12), [](Device& device, Communicator& c) {
    for (int round = 0; round < 3; ++round) {
      device.move_in(nullptr, 100000, 1 + c.rank(), ElementType::f32);
      work_of_bytes(device, 1000000 * (1 + (c.rank() * 5 + round) % 12));
      sim_test::exchange(device, c, [](int p, int q) { return 1000 * p + q; });
      c.all_reduce(device.allocate(5000, 1), Traffic::gradient);
    }
  });
  for (std::size_t r = 0; r < 12; ++r) {
    double covered = 0;
    for (const Phase phase : {Phase::compute, Phase::communicate, Phase::transfer, Phase::wait}) {
      covered += blocking_seconds(outcome.spans[r], phase);
    }
    EXPECT_NEAR(covered, outcome.seconds[r], 1e-9) << "rank " << r;
  }
  EXPECT_GT(blocking_seconds(outcome.spans[0], Phase::wait), 0.0);
}

TEST(SimOverlap, StartComputeWaitCostsTheLargerNotTheSum) {
  const auto rows = [](int, int) { return std::int64_t{1000000}; };
  const auto time_of = [&](bool communicate, std::int64_t compute_bytes) {
    return simulate(request_for(round_cluster(), 4),
                    [&](Device& device, Communicator& c) {
                      Request request;
                      if (communicate) request = sim_test::start_exchange(device, c, rows);
                      if (compute_bytes > 0) work_of_bytes(device, compute_bytes);
                      if (communicate) c.wait(request);
                    })
        .slowest();
  };
  const double exchange = time_of(true, 0);
  EXPECT_NEAR(exchange, 2e-6 + 3 * 4e6 / 1e11, 1e-12);
  for (const std::int64_t bytes : {4000000, 12000000, 40000000}) {
    EXPECT_NEAR(time_of(true, bytes), std::max(exchange, time_of(false, bytes)), 1e-12);
  }
}

/// Threads of one memory have nobody who would move bytes while they compute.
TEST(SimOverlap, RanksThatMoveBytesThemselvesPayTheSum) {
  Cluster cluster = round_cluster();
  cluster.nodes = cluster.described_nodes = 1;
  cluster.shared_host_memory = true;
  const auto time_of = [&](bool communicate, std::int64_t compute_bytes) {
    return simulate(request_for(cluster, 4),
                    [&](Device& device, Communicator& c) {
                      Request request;
                      if (communicate) request = sim_test::start_exchange(device, c, [](int, int) { return 1000000; });
                      if (compute_bytes > 0) work_of_bytes(device, compute_bytes);
                      if (communicate) c.wait(request);
                    })
        .slowest();
  };
  const double exchange = time_of(true, 0), compute = time_of(false, 40000000);
  EXPECT_GT(exchange, 1e-5);
  EXPECT_NEAR(time_of(true, 40000000), exchange + compute, 2e-6);
}

TEST(SimOverlap, CollectivesOfOneRankFollowEachOther) {
  const auto time_of = [](int collectives) {
    return simulate(request_for(round_cluster(), 8),
                    [&](Device& device, Communicator& c) {
                      std::vector<Request> requests;
                      for (int i = 0; i < collectives; ++i) {
                        requests.push_back(c.start_all_reduce(device.allocate(1000000, 1), Traffic::gradient));
                      }
                      for (Request& request : requests) c.wait(request);
                    })
        .slowest();
  };
  EXPECT_NEAR(time_of(3), 3 * time_of(1), 1e-12);
}

TEST(SimOverlap, IdealLinksLeaveComputeTimeOnlyAndOneRankSendsNothing) {
  Cluster ideal = round_cluster();
  ideal.intra_node_bytes_per_second = ideal.inter_node_bytes_per_second = std::numeric_limits<double>::infinity();
  ideal.intra_node_latency_seconds = ideal.inter_node_latency_seconds = 0;
  const auto program = [](Device& device, Communicator& c) {
    work_of_bytes(device, 10000000);  // 100 us
    sim_test::exchange(device, c, [](int, int) { return 500; });
    work_of_bytes(device, 10000000);
    c.all_reduce(device.allocate(1000, 1), Traffic::gradient);
  };
  EXPECT_NEAR(simulate(request_for(ideal, 20), program).slowest(), 200e-6, 1e-12);
  const Outcome alone = simulate(request_for(round_cluster(), 1), program);
  EXPECT_NEAR(alone.slowest(), 200e-6, 1e-12);
  for (const Span& span : alone.spans[0]) EXPECT_EQ(span.sent_bytes, 0u) << span.name;
  EXPECT_GT(simulate(request_for(round_cluster(), 20), program).slowest(), 210e-6);
}

TEST(SimMemory, TheLimitIsTheGpuLessTheReservedMemory) {
  for (const bool smaller : {false, true}) {
    LaunchRequest request = request_for(round_cluster(), 2);
    request.device.memory_limit_bytes = smaller ? 4000 : 5000000000;
    try {
      simulate(request, [&](Device& device, Communicator& c) {
        EXPECT_TRUE(device.has_own_memory());
        EXPECT_TRUE(device.wants_joined_inputs());
        EXPECT_EQ(device.memory_limit_bytes(), smaller ? 4000u : 1000000000u);
        const Tensor fits = device.allocate(smaller ? 1000 : 250000000, 1);
        EXPECT_FALSE(fits.has_values());
        if (c.rank() == 1) device.allocate(1, 1);
        c.barrier();
      });
      FAIL() << "more than the memory was allocated";
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.rank(), 1);
    }
  }
}

TEST(SimDevice, NeedsACluster) {
  DeviceRequest request;
  request.values = false;
  const auto make = DeviceRegistry::instance().find("sim").value;
  EXPECT_THROW(make(request), InvalidRequest);
  request.cluster = std::make_shared<Cluster>(round_cluster());
  EXPECT_NO_THROW(make(request));
}

}  // namespace
}  // namespace strobe
