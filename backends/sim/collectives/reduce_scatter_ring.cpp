// Ring reduce-scatter of a buffer of S bytes: the part of rank r starts at the rank after r and passes n - 1 hops to
// it, so the hop out of r carries all parts but r's own.
//   time = base + latency of the n - 1 hops + (S - smallest part) / B,
// which is (n-1) alpha + (n-1)/n S/B for even parts on one node without protocols. The protocol is the one for which
// that is least (nccl_protocols.hpp). The sums are hidden behind the transfers. Source: Thakur, Rabenseifner and Gropp,
// IJHPCA 2005.
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double reduce_scatter_ring_seconds(const CollectiveLoad& load, const Topology& topology) {
  return fastest(ring_protocols(topology), [&](const ProtocolCost& p) {
    return p.base_seconds + topology.chain_latency_seconds(p.intra_latency_seconds, p.inter_latency_seconds) +
           static_cast<double>(load.bytes - load.smallest_part_bytes) / p.bytes_per_second;
  });
}

double reduce_scatter_ring_messages(const CollectiveLoad&, const Topology& topology) { return topology.ranks - 1.0; }

const Register<CollectiveCostTag> reduce_scatter_ring_registered{{
    "reduce-scatter-ring",
    "ring in which every part is summed on its way to its owner",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4; uneven parts by the busiest hop",
    {},
    {CollectiveKind::reduce_scatter, reduce_scatter_ring_seconds, reduce_scatter_ring_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
