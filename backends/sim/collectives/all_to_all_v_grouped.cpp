// All-to-all-v whose messages are all posted at once (grouped send and receive), from the real byte matrix:
//   time = alpha + max( max over ranks of bytes sent or received inside the node / B_intra,
//                       max over nodes of bytes sent to or received from other nodes / B_node )
// The latency is paid once, not per peer, because the messages travel beside each other. All GPUs of a node share its
// network; which NIC a GPU is bound to is not modelled, so skew inside a node is seen only within the node. A skewed
// matrix has larger row or column maxima than an even one of the same total and costs more.
// Invariant: 0 when nothing is sent. Cost of this model: O(ranks), after O(messages) to sum the matrix.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  const ExchangeLoad& exchange = load.exchange;
  if (exchange.messages == 0) return 0;
  std::uint64_t inside = 0, outside = 0;
  for (const std::uint64_t bytes : exchange.sent_inside) inside = std::max(inside, bytes);
  for (const std::uint64_t bytes : exchange.received_inside) inside = std::max(inside, bytes);
  for (const std::uint64_t bytes : exchange.sent_outside) outside = std::max(outside, bytes);
  for (const std::uint64_t bytes : exchange.received_outside) outside = std::max(outside, bytes);
  const double latency =
      outside > 0 ? topology.largest_latency_seconds() : topology.intra.latency_seconds;
  return latency + std::max(static_cast<double>(inside) / topology.intra.bytes_per_second,
                            static_cast<double>(outside) / topology.inter.bytes_per_second);
}

const Register<CollectiveCostTag> registered{{
    "all-to-all-v-grouped",
    "all messages posted at once; the busiest GPU link or node network decides",
    "flow-level bound: row and column maxima of the byte matrix over link bandwidths",
    {},
    {CollectiveKind::all_to_all_v, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
