// Pipelined broadcast of S bytes along the chain of n ranks: the first byte pays every hop's latency, the rest follow.
//   time = base + latency of the n - 1 hops + S / B. The protocol is the one for which that is
// least (nccl_protocols.hpp). Source: NCCL's ring broadcast.
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double broadcast_pipeline_seconds(const CollectiveLoad& load, const Topology& topology) {
  return fastest(ring_protocols(topology), [&](const ProtocolCost& p) {
    return p.base_seconds + topology.chain_latency_seconds(p.intra_latency_seconds, p.inter_latency_seconds) +
           static_cast<double>(load.bytes) / p.bytes_per_second;
  });
}

/// The first bytes are sent on by one rank after the other.
double broadcast_pipeline_messages(const CollectiveLoad&, const Topology& topology) { return topology.ranks - 1.0; }

const Register<CollectiveCostTag> broadcast_pipeline_registered{{
    "broadcast-pipeline",
    "pipelined chain from the root through all ranks",
    "NCCL ring broadcast",
    {},
    {CollectiveKind::broadcast, broadcast_pipeline_seconds, broadcast_pipeline_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
