// Host work, transfers ahead and helpers in virtual time: their values, their times and their overlap.
#include "tests/conformance/collectives/host_work.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/host/host_work.hpp"
#include "backends/sim/cluster/calibration.hpp"
#include "tests/sim/sim_support.hpp"

namespace strobe {
namespace {

/// Nodes with 16 cores of 1e9 operations and 4e9 bytes a second, 3.2e10 bytes a second in all, and a disk of 1e9.
Cluster cluster_with_hosts() {
  Cluster c = sim_test::round_cluster();
  c.host.cores = 16;
  c.host.core_operations_per_second = 1e9;
  c.host.core_bytes_per_second = 4e9;
  c.host.memory_bytes_per_second = 3.2e10;
  c.host.disk_bytes_per_second = 1e9;
  return c;
}

HostWork work_of(double flops, double bytes, double disk_bytes = 0, std::vector<DeviceEvent> after = {}) {
  HostWork work;
  work.name = "work";
  work.work = {flops, bytes, 0};
  work.disk_bytes = disk_bytes;
  work.after = std::move(after);
  return work;
}

std::vector<Span> host_spans(const std::vector<Span>& spans) {
  std::vector<Span> found;
  for (const Span& span : spans) {
    if (span.stream == Stream::host && !span.blocking) found.push_back(span);
  }
  return found;
}

TEST(SimHostWork, PassesTheConformanceSuite) {
  for (const conformance::DeviceCase& c : conformance::host_cases()) {
    DeviceRequest request;
    request.cluster = std::make_shared<Cluster>(cluster_with_hosts());
    EXPECT_NO_THROW(c.program(*DeviceRegistry::instance().find("sim").value(request))) << c.name;
  }
}

TEST(SimHostWork, TakesTheShareOfItsNode) {
  const auto seconds = [](int ranks, int threads, const HostWork& work) {
    LaunchRequest request = sim_test::request_for(cluster_with_hosts(), ranks);
    request.device.host_threads = threads;
    const auto outcome = sim_test::simulate(request, [&](Device& device, Communicator&) {
      device.run_on_host(work);
      device.synchronize();
    });
    const Span span = host_spans(outcome.spans[0]).at(0);
    return span.end_seconds - span.begin_seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(1, 1, work_of(1e9, 0)), 1);
  EXPECT_DOUBLE_EQ(seconds(1, 4, work_of(1e9, 0)), 0.25);
  EXPECT_DOUBLE_EQ(seconds(8, 4, work_of(1e9, 0)), 0.5) << "eight ranks have two cores each";
  EXPECT_DOUBLE_EQ(seconds(1, 1, work_of(0, 4e9)), 1) << "one core's part of the memory";
  EXPECT_DOUBLE_EQ(seconds(1, 16, work_of(0, 3.2e10)), 1) << "all of it";
  EXPECT_DOUBLE_EQ(seconds(8, 16, work_of(0, 4e9)), 1) << "an eighth of it";
  EXPECT_DOUBLE_EQ(seconds(4, 16, work_of(0, 0, 1e9)), 4) << "a quarter of the disk";
  HostWork alone = work_of(1e9, 0);
  alone.serial = true;
  EXPECT_DOUBLE_EQ(seconds(1, 4, alone), 1) << "one worker does it all";
  EXPECT_DOUBLE_EQ(seconds(8, 4, alone), 1);
}

TEST(SimHostWork, LanesDivideTheShareOfTheirRank) {
  const auto cluster = cluster_with_hosts();  // 16 cores
  const auto seconds = [&](double part, int threads, int channels, const HostWork& work) {
    return sim::host_seconds(cluster, "work", work.work, work.disk_bytes, {part, threads, channels});
  };
  EXPECT_DOUBLE_EQ(seconds(1, 1, 16, work_of(1e9, 0)), 1) << "a core each";
  EXPECT_DOUBLE_EQ(seconds(1, 1, 32, work_of(1e9, 0)), 2) << "half a core each";
  EXPECT_DOUBLE_EQ(seconds(1, 4, 8, work_of(1e9, 0)), 0.5) << "two cores each";
  EXPECT_DOUBLE_EQ(seconds(0.25, 1, 8, work_of(1e9, 0)), 2) << "of four cores";
  EXPECT_DOUBLE_EQ(seconds(1, 1, 16, work_of(0, 2e9)), 1) << "a sixteenth of the memory's bandwidth";
  EXPECT_DOUBLE_EQ(seconds(1, 1, 4, work_of(0, 0, 1e9)), 4) << "a quarter of the disk";
}

TEST(SimHostWork, OneKnownBandwidthDecidesAlone) {
  for (double HostModel::*unknown : {&HostModel::core_bytes_per_second, &HostModel::memory_bytes_per_second}) {
    Cluster cluster = cluster_with_hosts();
    cluster.host.core_bytes_per_second = cluster.host.memory_bytes_per_second = 4e9;
    cluster.host.*unknown = 0;
    EXPECT_DOUBLE_EQ(sim::host_seconds(cluster, "work", {0, 8e9, 0}, 0, {1, 1}), 2);
  }
}

TEST(SimHostWork, AFitGoesFirstAndTheMemoryAndDiskStayBounds) {
  Cluster cluster = cluster_with_hosts();
  const auto fit = [&](const char* terms) {
    cluster.calibration = sim::read_calibration(Json::parse(terms), "/calibration");
  };
  const auto seconds = [&](const Work& work, double disk_bytes, const sim::HostShare& share) {
    return sim::host_seconds(cluster, "work", work, disk_bytes, share);
  };
  fit(R"({"host_operations": {"work": [{"seconds": 8.0}]}})");
  EXPECT_DOUBLE_EQ(seconds({1e9, 0, 0}, 0, {1, 1}), 8);
  EXPECT_DOUBLE_EQ(seconds({1e9, 0, 0}, 0, {1, 4}), 2) << "four workers share it";
  EXPECT_DOUBLE_EQ(seconds({0, 3.2e11, 0}, 0, {1, 1}), 10) << "the memory's bandwidth";
  EXPECT_DOUBLE_EQ(seconds({0, 0, 0}, 9e9, {1, 1}), 9) << "the disk's";
  EXPECT_DOUBLE_EQ(sim::host_seconds(cluster, "other", {1e9, 0, 0}, 0, {1, 1}), 1) << "no fit of that name";
  fit(R"({"host_operations": {"work": [{"seconds": 0.0}]}})");
  EXPECT_EQ(seconds({1e9, 0, 0}, 0, {1, 1}), 0);
}

TEST(SimHostWork, ThreadsBeyondTheCoresOfAMeasuredMachineTakeTurns) {
  Cluster cluster = cluster_with_hosts();
  EXPECT_EQ(sim::turns_on(cluster, 64), 1) << "not measured";
  const auto fit = [&](const char* terms) {
    cluster.calibration = sim::read_calibration(Json::parse(terms), "/calibration");
  };
  fit(R"({"cores": 2, "host_operations": {"work": [{"seconds": 8.0}]}})");
  EXPECT_EQ(sim::turns_on(cluster, 2), 1);
  sim::HostShare share{1, 1};
  share.turns = sim::turns_on(cluster, 3);
  EXPECT_DOUBLE_EQ(sim::host_seconds(cluster, "work", {1e9, 0, 0}, 0, share), 12);
  EXPECT_DOUBLE_EQ(sim::host_seconds(cluster, "work", {1e9, 0, 0}, 20e9, share), 20) << "the disk takes no turns";
}

TEST(SimHostWork, RowsThroughAnIndexCountWholeLinesAndChainsTheirLatency) {
  Cluster cluster = cluster_with_hosts();
  cluster.host.random_access_seconds = 1e-7;
  Work gather{0, 1e6, 1e6, {16e6, 1e6, 1e6, 16}};  // a million rows of 16 bytes, a sixteenth of them distinct
  const auto seconds = [&](const Work& work) { return sim::host_seconds(cluster, "rows", work, 0, {1, 1}); };
  EXPECT_DOUBLE_EQ(seconds(gather), (64e6 + 1e6) / 4e9) << "what is written, and a line for each row";
  gather.rounds = 1e6;
  EXPECT_DOUBLE_EQ(seconds(gather), 0.1);
}

TEST(SimHostWork, RunsDuringComputeAndDelaysItOnlyAtWaits) {
  const auto outcome =
      sim_test::simulate(sim_test::request_for(cluster_with_hosts(), 1), [](Device& device, Communicator&) {
        const Tensor tensor = device.allocate(1 << 20, 100);
        const DeviceEvent one = device.run_on_host(work_of(1e9, 0));
        device.run_on_host(work_of(1e9, 0));
        device.run(Fill{tensor, 1});  // some milliseconds
        EXPECT_FALSE(device.reached(one));
        device.wait(Stream::compute, one);
        EXPECT_TRUE(device.reached(one));
        device.synchronize();
      });
  const std::vector<Span> work = host_spans(outcome.spans[0]);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_DOUBLE_EQ(work[1].begin_seconds, work[0].end_seconds);
  double compute_end = 0, stalled = 0;
  for (const Span& span : outcome.spans[0]) {
    if (span.phase == Phase::compute) compute_end = span.end_seconds;
    if (span.phase == Phase::host && span.blocking) stalled += span.end_seconds - span.begin_seconds;
  }
  EXPECT_GT(compute_end, 0.001);
  EXPECT_NEAR(stalled, work[0].end_seconds - compute_end, 1e-12);
  EXPECT_DOUBLE_EQ(outcome.slowest(), work[1].end_seconds);
}

TEST(SimHostWork, TransfersAheadOverlapComputeInBothDirections) {
  const auto run = [](bool ahead) {
    return sim_test::simulate(sim_test::request_for(cluster_with_hosts(), 1),
                              [ahead](Device& device, Communicator&) {
                                const Tensor in = device.allocate(1 << 20, 10), out = device.allocate(1 << 20, 10);
                                const HostMemory from = device.allocate_host(in.bytes()),
                                                 to = device.allocate_host(out.bytes());
                                std::vector<DeviceEvent> moved;
                                if (ahead) moved = {device.start_stream_in(from, in), device.start_move_out(out, to)};
                                device.run(Fill{device.allocate(1 << 20, 100), 1});
                                if (!ahead) {
                                  moved = {device.start_stream_in(from, in)};
                                  device.wait(Stream::compute, moved[0]);
                                  moved.push_back(device.start_move_out(out, to));
                                }
                                for (const DeviceEvent& event : moved) device.wait(Stream::compute, event);
                                device.synchronize();
                              })
        .slowest();
  };
  const double compute = 4.0 * (1 << 20) * 100 / 1e11, transfer = 1e-5 + 4.0 * (1 << 20) * 10 / 1e10;
  EXPECT_NEAR(run(true), std::max(compute, transfer), 1e-4);
  EXPECT_NEAR(run(false), std::max(compute, transfer) + transfer, 1e-4) << "the one back waits for compute";
}

TEST(SimHostWork, ReadinessFollowsVirtualTimeInEveryOrderOfActors) {
  // Rank 0's answers come at 1, 2, 3, ... seconds; rank 1 looks at 2.5 seconds and must see two of them, however far
  // the helper's or the other rank's program has been run.
  for (const auto order : {sim::ScheduleOrder::smallest_clock, sim::ScheduleOrder::largest_rank}) {
    LaunchRequest request = sim_test::request_for(cluster_with_hosts(), 2);
    HelperRequest helper;
    helper.name = "ticker";
    helper.channels = {{"tick", 1, 0, 0}};
    helper.program = [](HelperPost& post) {
      while (post.await_request(0, Patience::unlimited)) {
        post.run(work_of(1e9, 0));
        post.give_answer(0);
      }
    };
    request.helpers = {helper};
    int seen = 0;
    sim_test::simulate(
        request,
        [&seen](Device& device, Communicator& c) {
          if (c.rank() == 0) return;
          std::vector<DeviceEvent> ticks;
          for (int i = 0; i < 5; ++i) {
            ticks.push_back(ticks.empty() ? c.channel(0, 0).ask() : c.channel(0, 0).ask({ticks.back()}));
          }
          device.await(device.run_on_host(work_of(2.5e9, 0)));
          for (const DeviceEvent& tick : ticks) seen += device.reached(tick) ? 1 : 0;
        },
        order);
    EXPECT_EQ(seen, 2);
  }
}

TEST(SimHostWork, AHelperThatSpansNodesIsRefused) {
  LaunchRequest request = sim_test::request_for(cluster_with_hosts(), 16);
  HelperRequest helper;
  helper.name = "far";
  helper.channels = {{"read", 7, 0, 0}, {"read", 8, 0, 0}};
  helper.program = [](HelperPost&) {};
  request.helpers = {helper};
  EXPECT_THROW(sim::launch_simulated(request, [](Device&, Communicator&) {}), InvalidRequest);
}

TEST(SimHostWork, GivesTheSameTraceEveryTime) {
  const auto trace = [](sim::ScheduleOrder order) {
    LaunchRequest request = sim_test::request_for(cluster_with_hosts(), 8);
    return sim_test::simulate(
        request,
        [](Device& device, Communicator& c) {
          DeviceEvent last;
          for (int i = 0; i < 10; ++i) {
            last = device.run_on_host(work_of(1e6 * (c.rank() + 1), 0, 0, {last}));
            device.wait(Stream::compute, last);
            device.run(Fill{device.allocate(1000, 10 * (c.rank() + 1)), 1});
            c.all_reduce(device.allocate(10, 1), Traffic::gradient);
          }
          device.synchronize();
        },
        order);
  };
  const auto a = trace(sim::ScheduleOrder::smallest_clock), b = trace(sim::ScheduleOrder::largest_rank);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    ASSERT_EQ(a.spans[rank].size(), b.spans[rank].size());
    for (std::size_t i = 0; i < a.spans[rank].size(); ++i) {
      EXPECT_EQ(a.spans[rank][i].begin_seconds, b.spans[rank][i].begin_seconds);
      EXPECT_EQ(a.spans[rank][i].end_seconds, b.spans[rank][i].end_seconds);
    }
  }
}

}  // namespace
}  // namespace strobe
