// Ring reduce-scatter of a buffer of S bytes: the part of rank r starts behind r and passes n - 1 hops to it, so the
// hop out of r carries all parts but r's own.
//   time = latency of the n - 1 hops + (S - smallest part) / B,  which is (n-1) alpha + (n-1)/n S/B for even parts on
// one node. The sums are hidden behind the transfers. Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  return topology.chain_latency_seconds() +
         static_cast<double>(load.bytes - load.smallest_part_bytes) / topology.ring_bytes_per_second();
}

const Register<CollectiveCostTag> registered{{
    "reduce-scatter-ring",
    "ring in which every part is summed on its way to its owner",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4; uneven parts by the busiest hop",
    {},
    {CollectiveKind::reduce_scatter, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
