// Pipelined broadcast of S bytes along the chain of n ranks: the first byte pays every hop's latency, the rest follow.
//   time = latency of the n - 1 hops + S / B. Source: NCCL's ring broadcast.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  return topology.chain_latency_seconds() + static_cast<double>(load.bytes) / topology.ring_bytes_per_second();
}

const Register<CollectiveCostTag> registered{{
    "broadcast-pipeline",
    "pipelined chain from the root through all ranks",
    "NCCL ring broadcast",
    {},
    {CollectiveKind::broadcast, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
