// The simulator's own cost on one core: wall time of the epoch of a snapshot-partitioned two-layer TM-GCN (every rank
// sends to every other in 8 redistributions) by ranks, and of one switch between ranks. Planning is not in it.
#include <benchmark/benchmark.h>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"

namespace strobe {
namespace {

LaunchRequest request_for(int ranks) {
  auto cluster = std::make_shared<Cluster>(*load_cluster("aimos-v100"));
  cluster->nodes = cluster->described_nodes = 4096;
  LaunchRequest request;
  request.ranks = ranks;
  request.device.values = false;
  request.device.cluster = cluster;
  request.make_device = DeviceRegistry::instance().find("sim").value;
  return request;
}

/// Rows by the even shares of `vertices` vertices and as many steps as ranks: this rank's step to every vertex' rank.
void redistribute(Device& device, Communicator& c, std::int64_t vertices, bool to_temporal) {
  const int ranks = c.size();
  std::vector<PeerRows> sends(ranks), receives(sends.size());
  const std::int64_t own = even_share(vertices, ranks, c.rank()).count;
  for (int q = 0; q < ranks; ++q) {
    const Run share = even_share(vertices, ranks, q);
    const std::size_t peer = q;
    sends[peer] = q == c.rank() ? PeerRows{} : to_temporal ? share : PeerRows{q * own, own};
    receives[peer] = q == c.rank() ? PeerRows{} : to_temporal ? PeerRows{q * own, own} : share;
  }
  const Tensor by_time = device.allocate(vertices, 6), by_vertex = device.allocate(own * ranks, 6);
  c.all_to_all_v(to_temporal ? by_time : by_vertex, std::move(sends), to_temporal ? by_vertex : by_time,
                 std::move(receives), Traffic::redistribute);
}

void esdg_epoch(benchmark::State& state) {
  const LaunchRequest request = request_for(static_cast<int>(state.range(0)));
  const auto launch = CommunicatorRegistry::instance().find("sim").value.launch;
  const std::int64_t vertices = state.range(0);
  double seconds = 0;
  for (auto _ : state) {
    launch(request, [&](Device& device, Communicator& c) {
      const Tensor x = device.allocate(vertices, 6);
      device.move_in(nullptr, vertices, 2, ElementType::f32);
      for (int stage = 0; stage < 4; ++stage) {  // two layers forward, two backward
        for (int i = 0; i < 10; ++i) device.run(Fill{x, 0.0});
        redistribute(device, c, vertices, true);
        for (int i = 0; i < 5; ++i) device.run(Fill{x, 0.0});
        redistribute(device, c, vertices, false);
      }
      c.all_reduce(device.allocate(200, 1), Traffic::gradient);
      c.all_reduce(device.allocate(1, 1), Traffic::other);
      seconds = device.now();
    });
  }
  state.counters["virtual_us"] = seconds * 1e6;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(esdg_epoch)->Arg(8)->Arg(128)->Arg(1024)->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond);

void barrier(benchmark::State& state) {
  const LaunchRequest request = request_for(static_cast<int>(state.range(0)));
  const auto launch = CommunicatorRegistry::instance().find("sim").value.launch;
  constexpr int barriers = 100;
  for (auto _ : state) {
    launch(request, [](Device&, Communicator& c) {
      for (int i = 0; i < barriers; ++i) c.barrier();
    });
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * barriers);
}
BENCHMARK(barrier)->Arg(2)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace strobe
