// All-to-all-v whose messages are all posted at once (grouped send and receive), from the real byte matrix:
//   time = base + alpha + max( max over ranks of bytes sent or received inside the node / B_intra,
//                              max over NIC groups of bytes sent to or received from other nodes / B_NIC,
//                              max over nodes of bytes between the node's GPUs / B_bridge )
// The latency is paid once, not per peer, because the messages travel at the same time. The GPUs of a node are bound
// to its NICs in equal groups and share them; a group cannot use another group's NIC, so skew inside a node costs. The
// bridge is that of nodes whose GPUs reach each other through the host only. A skewed matrix has larger row or column
// maxima than an even one of the same total and costs more.
// Over several nodes each message to another node is, where the cluster says so, longer by `all_to_all_half_bytes` and
// gets the share `all_to_all_efficiency` of the network; each peer costs its sender `all_to_all_peer_seconds`.
// Invariant: 0 when nothing is sent. Cost: O(ranks), after O(messages) to sum the matrix.
#include <algorithm>
#include <limits>
#include <vector>

#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

std::uint64_t largest(const std::vector<std::uint64_t>& bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

/// Bytes of the ranks summed by group(rank), of `groups` groups; the largest sum.
template <class Group>
std::uint64_t largest_sum(const std::vector<std::uint64_t>& bytes, int groups, const Group& group) {
  std::vector<std::uint64_t> sums(groups);
  for (std::size_t r = 0; r < bytes.size(); ++r) sums[group(static_cast<int>(r))] += bytes[r];
  return largest(sums);
}

/// Messages of m bytes get e m / (m + h) of the network, so each takes as long as one of m + h bytes at the share e. In
/// the busiest NIC group every rank is assumed to have as many messages as the rank with most.
double outside_seconds(std::uint64_t bytes, const ExchangeLoad& exchange, const Topology& topology) {
  const double sharing = std::max(1, topology.gpus_per_node / topology.nic_groups);
  const double peers = std::min<double>(static_cast<double>(exchange.most_messages), topology.ranks - 1);
  return (static_cast<double>(bytes) + sharing * peers * topology.exchange_half_bytes) /
         (topology.exchange_efficiency * topology.nic_bytes_per_second());
}

double peer_seconds(const ExchangeLoad& exchange, const Topology& topology) {
  return topology.nodes == 1 ? 0 : static_cast<double>(exchange.most_messages) * topology.exchange_peer_seconds;
}

double all_to_all_v_grouped_seconds(const CollectiveLoad& load, const Topology& topology) {
  const ExchangeLoad& exchange = load.exchange;
  if (topology.all_to_all != AllToAll::grouped) return std::numeric_limits<double>::infinity();
  if (exchange.messages == 0) return 0;
  const auto nic = [&topology](int rank) { return topology.nic_group_of(rank); };
  const auto node = [&topology](int rank) { return topology.node_of(rank); };
  const int groups = topology.nodes * topology.nic_groups;
  const std::uint64_t outside =
      std::max(largest_sum(exchange.sent_outside, groups, nic), largest_sum(exchange.received_outside, groups, nic));
  const std::uint64_t inside = std::max(largest(exchange.sent_inside), largest(exchange.received_inside));
  double transfer = 0;
  if (inside > 0) transfer = static_cast<double>(inside) / topology.intra.bytes_per_second;
  if (outside > 0) transfer = std::max(transfer, outside_seconds(outside, exchange, topology));
  if (topology.bridge_bytes_per_second > 0) {
    const std::uint64_t bridge = largest_sum(exchange.sent_inside, topology.nodes, node);
    transfer = std::max(transfer, static_cast<double>(bridge) / topology.bridge_bytes_per_second);
  }
  return call_seconds(topology) + transfer + peer_seconds(exchange, topology) +
         (outside > 0 ? topology.largest_latency_seconds() : topology.intra.latency_seconds);
}

double all_to_all_v_grouped_messages(const CollectiveLoad& load, const Topology&) {
  return static_cast<double>(load.exchange.most_messages);
}

const Register<CollectiveCostTag> all_to_all_v_grouped_registered{{
    "all-to-all-v-grouped",
    "all messages posted at once; the busiest GPU link, NIC or host bridge decides",
    "flow-level bound: row and column maxima of the byte matrix over link bandwidths",
    {},
    {CollectiveKind::all_to_all_v, all_to_all_v_grouped_seconds, all_to_all_v_grouped_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
