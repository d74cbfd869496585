#include "backends/sim/collective_cost.hpp"

#include <limits>

namespace strobe::sim {

ExchangeLoad::ExchangeLoad(const Topology& topology)
    : sent_inside(static_cast<std::size_t>(topology.ranks)),
      received_inside(static_cast<std::size_t>(topology.ranks)),
      sent_outside(static_cast<std::size_t>(topology.ranks)),
      received_outside(static_cast<std::size_t>(topology.ranks)) {}

void ExchangeLoad::add(const Topology& topology, int from, int to, std::uint64_t bytes) {
  if (bytes == 0 || from == to) return;
  ++messages;
  const bool inside = topology.node_of(from) == topology.node_of(to);
  (inside ? sent_inside : sent_outside)[static_cast<std::size_t>(from)] += bytes;
  (inside ? received_inside : received_outside)[static_cast<std::size_t>(to)] += bytes;
}

double busiest_rank_bytes(const CollectiveLoad& load, int ranks) {
  const auto bytes = static_cast<double>(load.bytes), others = (ranks - 1.0) / ranks;
  switch (load.kind) {
    case CollectiveKind::all_reduce:
      return 2 * others * bytes;
    case CollectiveKind::all_gather_v:
    case CollectiveKind::reduce_scatter:
      return bytes - static_cast<double>(load.smallest_part_bytes);
    case CollectiveKind::all_to_all_v: {
      std::uint64_t most = 0;
      const ExchangeLoad& e = load.exchange;
      for (std::size_t r = 0; r < e.sent_inside.size(); ++r) {
        most = std::max({most, e.sent_inside[r] + e.sent_outside[r], e.received_inside[r] + e.received_outside[r]});
      }
      return static_cast<double>(most);
    }
    case CollectiveKind::broadcast:
    case CollectiveKind::send:
    case CollectiveKind::receive:
      return bytes;
    case CollectiveKind::barrier:
      break;
  }
  return 0;
}

double busiest_rank_messages(const CollectiveLoad& load, int ranks) {
  if (load.kind == CollectiveKind::all_to_all_v) return static_cast<double>(load.exchange.most_messages);
  if (load.kind == CollectiveKind::send || load.kind == CollectiveKind::receive) return 1;
  return load.kind == CollectiveKind::all_reduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

double collective_seconds(const CollectiveLoad& load, const Topology& topology) {
  if (topology.ranks == 1) return 0;
  if (topology.calibration != nullptr) {
    const double fitted = topology.calibration->collective_seconds(
        collective_names[static_cast<int>(load.kind)], topology.ranks, busiest_rank_bytes(load, topology.ranks),
        busiest_rank_messages(load, topology.ranks));
    if (fitted >= 0) return fitted;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, entry] : Registry<CollectiveCostTag>::instance().entries()) {
    if (entry.value.collective == load.kind) best = std::min(best, entry.value.seconds(load, topology));
  }
  if (best == std::numeric_limits<double>::infinity()) {
    throw Unavailable("no cost model for collective " + std::string(collective_names[static_cast<int>(load.kind)]));
  }
  return best;
}

}  // namespace strobe::sim
