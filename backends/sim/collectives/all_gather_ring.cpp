// Ring all-gather of parts that together have S bytes: the hop into rank r carries all parts but r's own.
//   time = latency of the n - 1 hops + (S - smallest part) / B,  which is (n-1) alpha + (n-1)/n S/B for even parts on
// one node. Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  return topology.chain_latency_seconds() +
         static_cast<double>(load.bytes - load.smallest_part_bytes) / topology.ring_bytes_per_second();
}

const Register<CollectiveCostTag> registered{{
    "all-gather-ring",
    "ring in which every part passes all other ranks",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 3; uneven parts by the busiest hop",
    {},
    {CollectiveKind::all_gather_v, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
