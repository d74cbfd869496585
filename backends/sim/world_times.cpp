// When collectives and messages of the simulated job begin and end, in all lanes.
#include <algorithm>

#include "backends/sim/world.hpp"

namespace strobe::sim {

bool shares_memory(const Cluster* cluster) {
  return cluster != nullptr && cluster->shared_host_memory && cluster->nodes == 1;
}

Instant World::issue(std::size_t rank, std::size_t side, int from, int to, const std::vector<Topology>& topologies) {
  Instant& free = lines_[rank].issue[side];
  Instant begin = clocks_[rank]->arrival();
  begin.raise(free);
  free = Instant::each(topologies.size(),
                       [&](std::size_t lane) { return begin[lane] + topologies[lane].issue_seconds(from, to); });
  return begin;
}

const Instant& World::settle(Flight& flight, const std::vector<Topology>& topologies, const Instant& free) {
  flight.mismatch = find_disagreement(flight);
  flight.ready = flight.last_arrival();
  flight.ready.raise(free);
  flight.end = flight.ready;
  if (flight.mismatch.empty()) {
    move_values(flight);
    const CollectiveLoad load = load_of(flight, topologies.front());
    flight.end = Instant::each(topologies.size(), [&](std::size_t lane) {
      return flight.ready[lane] +
             (collective_seconds(load, topologies[lane]) + software_seconds(*clusters_[lane], flight, load));
    });
  }
  flight.done = true;
  flight.calls.clear();
  for (const int rank : flight.waiting) scheduler_.wake(rank);
  return flight.end;
}

double World::software_seconds(const Cluster& cluster, const Flight& flight, const CollectiveLoad& load) const {
  if (cluster.software == nullptr) return 0;
  double snapshots = 1;
  const int members = static_cast<int>(flight.calls.size());
  for (int member = 0; member < members; ++member) {
    snapshots = std::max(snapshots, clocks_[flight.rank_of(member)]->snapshots());
  }
  const Call& call = flight.calls.front();
  return framework_collective_seconds(cluster, load, call.traffic, members, snapshots);
}

Completion World::complete(std::size_t rank, const Flight& flight, bool holds_host) {
  // Threads of one memory move the bytes themselves, when they begin to wait for them.
  const bool late = shares_memory(request_.device.cluster.get());
  const Instant begin = Instant::each(clusters_.size(), [&](std::size_t lane) {
    return late ? std::max(flight.ready[lane], clocks_[rank]->now_in(lane)) : flight.ready[lane];
  });
  const Instant end = Instant::each(
      clusters_.size(), [&](std::size_t lane) { return begin[lane] + (flight.end[lane] - flight.ready[lane]); });
  clocks_[rank]->complete_communication(begin, end, holds_host);
  return {begin.described(), end.described()};
}

}  // namespace strobe::sim
