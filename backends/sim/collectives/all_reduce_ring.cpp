// Ring all-reduce of S bytes on n ranks: every part goes around the ring twice.
//   time = base + 2 (latency of the n - 1 hops) + 2 (n-1)/n S / B,  B the slowest hop's bandwidth,
// by NCCL's protocol (nccl_protocols.hpp) for which that is least. Without protocols, on one node, it is the closed
// form 2(n-1) alpha + 2(n-1)/n S/B. Over several nodes a Simple ring's latency is 1.9 times (before Ampere) or 1.4
// times what its hops add up to (NCCL's plateau). Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005; NCCL 2.30 tuning
// model.
#include <string_view>

#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double plateau(const Topology& topology, const ProtocolCost& protocol) {
  if (topology.nodes == 1 || std::string_view(protocol.name) != "Simple") return 1;
  return topology.architecture == "volta" || topology.architecture == "turing" ? 1.9 : 1.4;
}

double all_reduce_ring_seconds(const CollectiveLoad& load, const Topology& topology) {
  const double n = topology.ranks;
  return fastest(ring_protocols(topology), [&](const ProtocolCost& p) {
    const double hops = topology.chain_latency_seconds(p.intra_latency_seconds, p.inter_latency_seconds);
    return (p.base_seconds + 2 * hops) * plateau(topology, p) +
           2 * (n - 1) / n * static_cast<double>(load.bytes) / p.bytes_per_second;
  });
}

double all_reduce_ring_messages(const CollectiveLoad&, const Topology& topology) { return 2.0 * (topology.ranks - 1); }

const Register<CollectiveCostTag> all_reduce_ring_registered{{
    "all-reduce-ring",
    "ring: reduce-scatter, then all-gather; best for large buffers",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4; protocols and hops between nodes by NCCL's tuning model",
    {},
    {CollectiveKind::all_reduce, all_reduce_ring_seconds, all_reduce_ring_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
