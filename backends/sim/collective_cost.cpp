#include "backends/sim/collective_cost.hpp"

#include <limits>

namespace strobe::sim {

ExchangeLoad::ExchangeLoad(const Topology& topology)
    : sent_inside(static_cast<std::size_t>(topology.ranks)),
      received_inside(static_cast<std::size_t>(topology.ranks)),
      sent_outside(static_cast<std::size_t>(topology.nodes)),
      received_outside(static_cast<std::size_t>(topology.nodes)) {}

void ExchangeLoad::add(const Topology& topology, int from, int to, std::uint64_t bytes) {
  if (bytes == 0 || from == to) return;
  ++messages;
  const int from_node = topology.node_of(from), to_node = topology.node_of(to);
  if (from_node == to_node) {
    sent_inside[static_cast<std::size_t>(from)] += bytes;
    received_inside[static_cast<std::size_t>(to)] += bytes;
  } else {
    sent_outside[static_cast<std::size_t>(from_node)] += bytes;
    received_outside[static_cast<std::size_t>(to_node)] += bytes;
  }
}

double collective_seconds(const CollectiveLoad& load, const Topology& topology) {
  if (topology.ranks == 1) return 0;
  double best = std::numeric_limits<double>::infinity();
  bool found = false;
  for (const auto& [name, entry] : Registry<CollectiveCostTag>::instance().entries()) {
    if (entry.value.collective != load.kind) continue;
    best = std::min(best, entry.value.seconds(load, topology));
    found = true;
  }
  if (!found) {
    throw Unavailable("no cost model for collective " +
                      std::string(collective_names[static_cast<int>(load.kind)]));
  }
  return best;
}

}  // namespace strobe::sim
