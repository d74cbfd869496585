// All-to-all-v in two phases, where the library does so (`all_to_all` hierarchical): ranks of a node exchange what goes
// to the ranks of each place, then ranks of the same place in all N nodes exchange, so that a rank has N - 1 messages
// to other nodes and not (N - 1) g.
//   time = 2 base + alpha_intra + (inside + outside (g - 1)/g) / B_intra
//          + alpha_inter + (N - 1) cost of a peer + (outside per NIC group + (N - 1) h per rank of it) / (e B_NIC)
// with the bytes of the busiest rank, which the first phase spreads over its node. Where the busiest rank has only k
// peers, it has at most k messages in the first phase, and the g ranks of its node at most g k between them in the
// second; of N - 1 and g k the smaller counts. On one node it is the first phase alone. Source: two-level all-to-all
// after Traeff and Rougier, EuroMPI 2014.
#include <algorithm>
#include <limits>

#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

/// Bytes of one node to or from others, of the busiest; of a rank inside its node.
struct LevelBytes {
  double inside = 0, node_outside = 0, rank_outside = 0;
};

void take(const std::vector<std::uint64_t>& inside, const std::vector<std::uint64_t>& outside, const Topology& topology,
          LevelBytes& bytes) {
  std::vector<double> nodes(topology.nodes);
  for (std::size_t rank = 0; rank < inside.size(); ++rank) {
    bytes.inside = std::max(bytes.inside, static_cast<double>(inside[rank]));
    bytes.rank_outside = std::max(bytes.rank_outside, static_cast<double>(outside[rank]));
    nodes[topology.node_of(static_cast<int>(rank))] += static_cast<double>(outside[rank]);
  }
  bytes.node_outside = std::max(bytes.node_outside, *std::max_element(nodes.begin(), nodes.end()));
}

/// Other nodes that a rank of the second phase can have messages for.
double peer_nodes(const ExchangeLoad& exchange, const Topology& topology) {
  const double messages = static_cast<double>(exchange.most_messages) * topology.gpus_per_node;
  return std::min(topology.nodes - 1.0, messages);
}

double all_to_all_v_hierarchical_messages(const CollectiveLoad& load, const Topology& topology) {
  const double inside = std::min(topology.gpus_per_node - 1.0, static_cast<double>(load.exchange.most_messages));
  return inside + peer_nodes(load.exchange, topology);
}

double all_to_all_v_hierarchical_seconds(const CollectiveLoad& load, const Topology& topology) {
  if (topology.all_to_all != AllToAll::hierarchical) return std::numeric_limits<double>::infinity();
  const ExchangeLoad& exchange = load.exchange;
  if (exchange.messages == 0) return 0;
  LevelBytes bytes;
  take(exchange.sent_inside, exchange.sent_outside, topology, bytes);
  take(exchange.received_inside, exchange.received_outside, topology, bytes);
  const double g = topology.gpus_per_node, others = peer_nodes(exchange, topology);
  const double first = bytes.inside + bytes.rank_outside * (g - 1) / g;
  double seconds = call_seconds(topology);
  if (g > 1) seconds += topology.intra.latency_seconds + first / topology.intra.bytes_per_second;
  if (!(bytes.node_outside > 0)) return seconds;
  const double of_group = bytes.node_outside / topology.nic_groups;
  const double sharing = std::max(1.0, g / topology.nic_groups);
  return seconds + call_seconds(topology) + topology.inter.latency_seconds + others * topology.exchange_peer_seconds +
         (of_group + sharing * others * topology.exchange_half_bytes) /
             (topology.exchange_efficiency * topology.nic_bytes_per_second());
}

const Register<CollectiveCostTag> all_to_all_v_hierarchical_registered{{
    "all-to-all-v-hierarchical",
    "inside the nodes first, then between ranks of the same place; where the library does so",
    "Traeff and Rougier, EuroMPI 2014",
    {},
    {CollectiveKind::all_to_all_v, all_to_all_v_hierarchical_seconds, all_to_all_v_hierarchical_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
