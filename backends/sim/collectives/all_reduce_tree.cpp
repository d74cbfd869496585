// Tree all-reduce of S bytes: chains inside the nodes, a binary tree between them, once up and once down.
//   time = base + 2 ((g-1) alpha_intra + ceil(log2 N) alpha_inter) + 2 S / B
// for N nodes with at most g ranks each, by the protocol for which that is least (nccl_protocols.hpp). On one node it
// is a chain and never beats the ring. Source: NCCL's tuning model.
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double all_reduce_tree_seconds(const CollectiveLoad& load, const Topology& topology) {
  const int in_node = std::min(topology.ranks, topology.gpus_per_node);
  return fastest(tree_protocols(topology), [&](const ProtocolCost& p) {
    const double hops = (in_node - 1) * p.intra_latency_seconds + topology.tree_levels() * p.inter_latency_seconds;
    return p.base_seconds + 2 * hops + 2 * static_cast<double>(load.bytes) / p.bytes_per_second;
  });
}

double all_reduce_tree_messages(const CollectiveLoad&, const Topology& topology) {
  return 2.0 * (std::min(topology.ranks, topology.gpus_per_node) - 1 + topology.tree_levels());
}

const Register<CollectiveCostTag> all_reduce_tree_registered{{
    "all-reduce-tree",
    "pipelined tree between nodes, chain inside a node; best for small buffers on many nodes",
    "NCCL tuning model (tree), latency and bandwidth terms",
    {},
    {CollectiveKind::all_reduce, all_reduce_tree_seconds, all_reduce_tree_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
