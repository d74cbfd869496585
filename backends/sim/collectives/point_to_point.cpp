// One message of S bytes: base + alpha + S / B of the link between the two ranks. A message between nodes leaves by one
// NIC, and still has to leave its GPU, so its bandwidth is at most that of the link inside the node.
// Source: Hockney, Parallel Computing 20(3), 1994.
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double point_to_point_seconds(const CollectiveLoad& load, const Topology& topology) {
  const Link& link = topology.between(load.from, load.to);
  return call_seconds(topology) + link.latency_seconds +
         static_cast<double>(load.bytes) / std::min(link.bytes_per_second, topology.intra.bytes_per_second);
}

double point_to_point_messages(const CollectiveLoad&, const Topology&) { return 1; }

const Register<CollectiveCostTag> point_to_point_registered{{
    "point-to-point",
    "latency plus bytes over bandwidth of the link between the two ranks",
    "Hockney, Parallel Computing 20(3), 1994",
    {},
    {CollectiveKind::send, point_to_point_seconds, point_to_point_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
