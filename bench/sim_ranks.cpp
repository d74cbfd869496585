// The simulator's own cost: wall time of one epoch-like program (compute, two redistributions, gradient all-reduce) by
// ranks, and of one switch between ranks.
#include <benchmark/benchmark.h>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"

namespace strobe {
namespace {

LaunchRequest request_for(int ranks) {
  auto cluster = std::make_shared<Cluster>(*load_cluster("aimos-v100"));
  cluster->nodes = 4096;
  LaunchRequest request;
  request.ranks = ranks;
  request.device.numerics = Numerics::none;
  request.device.cluster = cluster;
  request.make_device = DeviceRegistry::instance().find("sim").value;
  return request;
}

void redistribute(Device& device, Communicator& c) {
  const auto peers = static_cast<std::size_t>(c.size());
  std::vector<PeerRows> rows(peers);
  for (std::size_t q = 0; q < peers; ++q) rows[q] = {static_cast<std::int64_t>(q), 1};
  rows[static_cast<std::size_t>(c.rank())] = {};
  const Tensor send = device.allocate(c.size(), 6), receive = device.allocate(c.size(), 6);
  c.all_to_all_v(send, rows, receive, rows, Traffic::redistribute);
}

void epoch_like(benchmark::State& state) {
  const LaunchRequest request = request_for(static_cast<int>(state.range(0)));
  const auto launch = CommunicatorRegistry::instance().find("sim").value.launch;
  for (auto _ : state) {
    launch(request, [](Device& device, Communicator& c) {
      const Tensor x = device.allocate(1000, 6);
      for (int i = 0; i < 20; ++i) device.run(Fill{x, 0.0});
      redistribute(device, c);
      redistribute(device, c);
      c.all_reduce(x, Traffic::gradient);
    });
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(epoch_like)->Arg(8)->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);

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
