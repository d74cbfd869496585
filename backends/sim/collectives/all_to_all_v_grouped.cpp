// All-to-all-v whose messages are all posted at once (grouped send and receive), from the real byte matrix:
//   time = base + alpha + max( max over ranks of bytes sent or received inside the node / B_intra,
//                              max over NIC groups of bytes sent to or received from other nodes / B_NIC,
//                              max over nodes of bytes between the node's GPUs / B_bridge )
// The latency is paid once, not per peer, because the messages travel beside each other. The GPUs of a node are bound
// to its NICs in equal groups and share them; a group cannot use another group's NIC, so skew inside a node costs. The
// bridge is that of nodes whose GPUs reach each other through the host only. A skewed matrix has larger row or column
// maxima than an even one of the same total and costs more.
// Invariant: 0 when nothing is sent. Cost: O(ranks), after O(messages) to sum the matrix.
#include <vector>

#include "backends/sim/collective_cost.hpp"
#include "backends/sim/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

std::uint64_t largest(const std::vector<std::uint64_t>& bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

/// Bytes of the ranks summed by group(rank), of `groups` groups; the largest sum.
template <class Group>
std::uint64_t largest_sum(const std::vector<std::uint64_t>& bytes, int groups, const Group& group) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(groups));
  for (std::size_t r = 0; r < bytes.size(); ++r) sums[static_cast<std::size_t>(group(static_cast<int>(r)))] += bytes[r];
  return largest(sums);
}

double all_to_all_v_grouped_seconds(const CollectiveLoad& load, const Topology& topology) {
  const ExchangeLoad& exchange = load.exchange;
  if (exchange.messages == 0) return 0;
  const auto nic = [&topology](int rank) { return topology.nic_group_of(rank); };
  const auto node = [&topology](int rank) { return topology.node_of(rank); };
  const int groups = topology.nodes * topology.nic_groups;
  const std::uint64_t outside =
      std::max(largest_sum(exchange.sent_outside, groups, nic), largest_sum(exchange.received_outside, groups, nic));
  const std::uint64_t inside = std::max(largest(exchange.sent_inside), largest(exchange.received_inside));
  double transfer = 0;
  if (inside > 0) transfer = static_cast<double>(inside) / topology.intra.bytes_per_second;
  if (outside > 0) transfer = std::max(transfer, static_cast<double>(outside) / topology.nic_bytes_per_second());
  if (topology.bridge_bytes_per_second > 0) {
    const std::uint64_t bridge = largest_sum(exchange.sent_inside, topology.nodes, node);
    transfer = std::max(transfer, static_cast<double>(bridge) / topology.bridge_bytes_per_second);
  }
  return call_seconds(topology) + transfer +
         (outside > 0 ? topology.largest_latency_seconds() : topology.intra.latency_seconds);
}

const Register<CollectiveCostTag> all_to_all_v_grouped_registered{{
    "all-to-all-v-grouped",
    "all messages posted at once; the busiest GPU link, NIC or host bridge decides",
    "flow-level bound: row and column maxima of the byte matrix over link bandwidths",
    {},
    {CollectiveKind::all_to_all_v, all_to_all_v_grouped_seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
