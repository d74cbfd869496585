// Hierarchical all-reduce of S bytes on N nodes of g ranks each: reduce-scatter inside the nodes, all-reduce of each
// rank's share S / g with the ranks of the same place in the other nodes, all-gather inside the nodes.
//   time = 2 [(g-1) alpha_intra + (g-1)/g S / B_intra] + 2 (N-1) alpha_inter + 2 (N-1)/N S / B_inter
// The g rings of the middle phase run at once and share the node's network, so together they carry S. Applies to full
// nodes only, and only where the collectives library does this (`hierarchical_collectives`; NCCL's ring does not).
// Source: three phases after Cho et al., BlueConnect, SysML 2019.
#include <limits>

#include "backends/sim/cost/collective_cost.hpp"

namespace strobe::sim {
namespace {

double all_reduce_hierarchical_seconds(const CollectiveLoad& load, const Topology& topology) {
  const double g = topology.gpus_per_node, nodes = topology.nodes, bytes = static_cast<double>(load.bytes);
  if (!topology.hierarchical || topology.nodes == 1 || topology.ranks != topology.nodes * topology.gpus_per_node) {
    return std::numeric_limits<double>::infinity();
  }
  Topology inside = topology;
  inside.nodes = 1;
  inside.ranks = topology.gpus_per_node;
  const double within =
      (g - 1) * topology.intra.latency_seconds + (g - 1) / g * bytes / inside.inside_bytes_per_second();
  return 2 * within + 2 * (nodes - 1) * topology.inter.latency_seconds +
         2 * (nodes - 1) / nodes * bytes / topology.inter.bytes_per_second;
}

double all_reduce_hierarchical_messages(const CollectiveLoad&, const Topology& topology) {
  return 2.0 * (topology.gpus_per_node - 1 + topology.nodes - 1);
}

const Register<CollectiveCostTag> all_reduce_hierarchical_registered{{
    "all-reduce-hierarchical",
    "reduce-scatter inside the nodes, all-reduce between them, all-gather inside; where the library does so",
    "Cho, Finkler, Serrano, Kung and Hunter, BlueConnect, SysML 2019",
    {},
    {CollectiveKind::all_reduce, all_reduce_hierarchical_seconds, all_reduce_hierarchical_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
