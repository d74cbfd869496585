// Shared by the tests of the simulator: a cluster in round numbers and a launch that returns every rank's spans.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/sim/world.hpp"

namespace strobe::sim_test {

/// 16 nodes x 8 GPUs; compute 1e12 flops/s (half in fp64), 1e11 bytes/s, 1 GB; links 1e11 and 1e10 bytes/s.
inline Cluster round_cluster() {
  Cluster c;
  c.name = "round";
  c.nodes = c.described_nodes = 16;
  c.gpus_per_node = 8;
  c.gpu.name = "round";
  c.gpu.flops_fp32_per_second = 1e12;
  c.gpu.flops_fp64_per_second = 5e11;
  c.gpu.memory_bytes_per_second = 1e11;
  c.gpu.memory_bytes = 1100000000;
  c.gpu.reserved_bytes = 100000000;
  c.gpu.launch_seconds = 1e-6;
  c.host_to_device_bytes_per_second = 1e10;
  c.host_to_device_latency_seconds = 1e-5;
  c.intra_node_bytes_per_second = 1e11;
  c.intra_node_latency_seconds = 2e-6;
  c.inter_node_bytes_per_second = 1e10;
  c.inter_node_latency_seconds = 8e-6;
  return c;
}

inline LaunchRequest request_for(const Cluster& cluster, int ranks, bool values = false) {
  LaunchRequest request;
  request.ranks = ranks;
  request.device.values = values;
  request.device.cluster = std::make_shared<Cluster>(cluster);
  request.make_device = DeviceRegistry::instance().find("sim").value;
  return request;
}

struct Outcome {
  std::vector<std::vector<Span>> spans;  // per rank
  std::vector<double> seconds;           // per rank, at the end of its program
  double slowest() const {
    double most = 0;
    for (const double s : seconds) most = std::max(most, s);
    return most;
  }
};

inline Outcome simulate(const LaunchRequest& request, const RankProgram& program,
                        sim::ScheduleOrder order = sim::ScheduleOrder::smallest_clock) {
  Outcome outcome;
  outcome.spans.resize(request.ranks);
  outcome.seconds.resize(request.ranks);
  sim::launch_simulated(
      request,
      [&](Device& device, Communicator& communicator) {
        program(device, communicator);
        device.synchronize();
        const std::size_t rank = communicator.rank();
        outcome.spans[rank] = device.spans().spans();
        outcome.seconds[rank] = device.now();
      },
      order);
  return outcome;
}

/// An operation of `bytes` bytes written and no flops; on the round cluster it takes bytes / 1e11 seconds.
inline void work_of_bytes(Device& device, std::int64_t bytes) {
  device.run(Fill{device.allocate(bytes / 4, 1, ElementType::f32), 0.0});
}

/// Starts the all-to-all in which rank p sends rows(p, q) rows of 4 bytes to rank q.
inline Request start_exchange(Device& device, Communicator& c, const std::function<std::int64_t(int, int)>& rows) {
  std::vector<PeerRows> sends, receives;
  std::int64_t sent = 0, received = 0;
  for (int q = 0; q < c.size(); ++q) {
    sends.push_back({sent, q == c.rank() ? 0 : rows(c.rank(), q)});
    receives.push_back({received, q == c.rank() ? 0 : rows(q, c.rank())});
    sent += sends.back().count;
    received += receives.back().count;
  }
  return c.start_all_to_all_v(device.allocate(sent, 1), sends, device.allocate(received, 1), receives,
                              Traffic::redistribute);
}

inline void exchange(Device& device, Communicator& c, const std::function<std::int64_t(int, int)>& rows) {
  Request request = start_exchange(device, c, rows);
  c.wait(request);
}

}  // namespace strobe::sim_test
