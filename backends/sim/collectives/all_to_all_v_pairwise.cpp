// All-to-all-v in rounds, where the library does so (`all_to_all` pairwise): in round k of n - 1 every rank sends to
// the rank k places after it and receives from the one k places before it, and the next round waits for this one.
//   time = base + (n - 1) alpha + peers x cost of a peer
//          + [ inside bytes / B_intra + (outside bytes + peers x h) / (e B_NIC / g) ]
// with the busiest rank's bytes, in equal messages. A round uses either link, so times of inside and outside add up;
// ranks of one NIC group use it at the same time, and in rounds that stay inside the node it idles, which is why rounds
// are slower than messages that are all posted at once. Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 5.
#include <algorithm>
#include <limits>

#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double most(const std::vector<std::uint64_t>& sent, const std::vector<std::uint64_t>& received) {
  std::uint64_t bytes = 0;
  for (const std::uint64_t one : sent) bytes = std::max(bytes, one);
  for (const std::uint64_t one : received) bytes = std::max(bytes, one);
  return static_cast<double>(bytes);
}

double all_to_all_v_pairwise_seconds(const CollectiveLoad& load, const Topology& topology) {
  if (topology.all_to_all != AllToAll::pairwise) return std::numeric_limits<double>::infinity();
  const ExchangeLoad& exchange = load.exchange;
  if (exchange.messages == 0) return 0;
  const double rounds = topology.ranks - 1, peers = static_cast<double>(exchange.most_messages);
  const double inside = most(exchange.sent_inside, exchange.received_inside);
  const double outside = most(exchange.sent_outside, exchange.received_outside);
  const double sharing = std::max(1, topology.gpus_per_node / topology.nic_groups);
  double transfer = inside / topology.intra.bytes_per_second;
  if (outside > 0) {
    const double longer = outside + peers * topology.exchange_half_bytes;
    transfer += longer * sharing / (topology.exchange_efficiency * topology.nic_bytes_per_second());
  }
  const double of_peers = topology.nodes == 1 ? 0 : peers * topology.exchange_peer_seconds;
  return call_seconds(topology) + rounds * topology.largest_latency_seconds() + of_peers + transfer;
}

double all_to_all_v_pairwise_messages(const CollectiveLoad& load, const Topology&) {
  return static_cast<double>(load.exchange.most_messages);
}

const Register<CollectiveCostTag> all_to_all_v_pairwise_registered{{
    "all-to-all-v-pairwise",
    "one peer in each of n - 1 rounds; where the library does so",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 5",
    {},
    {CollectiveKind::all_to_all_v, all_to_all_v_pairwise_seconds, all_to_all_v_pairwise_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
