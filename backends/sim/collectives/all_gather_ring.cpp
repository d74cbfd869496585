// Ring all-gather of parts that together have S bytes: the hop into rank r carries all parts but r's own.
//   time = base + latency of the n - 1 hops + (S - smallest part) / B,
// which is (n-1) alpha + (n-1)/n S/B for even parts on one node without protocols. The protocol is the one for which
// that is least (nccl_protocols.hpp). Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double all_gather_ring_seconds(const CollectiveLoad& load, const Topology& topology) {
  return fastest(ring_protocols(topology), [&](const ProtocolCost& p) {
    return p.base_seconds + topology.chain_latency_seconds(p.intra_latency_seconds, p.inter_latency_seconds) +
           static_cast<double>(load.bytes - load.smallest_part_bytes) / p.bytes_per_second;
  });
}

double all_gather_ring_messages(const CollectiveLoad&, const Topology& topology) { return topology.ranks - 1.0; }

const Register<CollectiveCostTag> all_gather_ring_registered{{
    "all-gather-ring",
    "ring in which every part passes all other ranks",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 3; uneven parts by the busiest hop",
    {},
    {CollectiveKind::all_gather_v, all_gather_ring_seconds, all_gather_ring_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
