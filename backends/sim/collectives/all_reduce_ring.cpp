// Ring all-reduce of S bytes on n ranks: every part goes around the ring twice.
//   time = 2 (latency of the n - 1 hops) + 2 (n-1)/n S / B,  B the slowest hop's bandwidth.
// On one node that is 2(n-1) alpha + 2(n-1)/n S/B. Source: Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  const double n = topology.ranks;
  return 2 * topology.chain_latency_seconds() +
         2 * (n - 1) / n * static_cast<double>(load.bytes) / topology.ring_bytes_per_second();
}

const Register<CollectiveCostTag> registered{{
    "all-reduce-ring",
    "ring: reduce-scatter, then all-gather; best for large buffers",
    "Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4; hops between nodes counted as in NCCL's tuning model",
    {},
    {CollectiveKind::all_reduce, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
