// Tree all-reduce of S bytes: chains inside the nodes, a binary tree between them, once up and once down.
//   time = 2 ((g-1) alpha_intra + ceil(log2 N) alpha_inter) + 2 S / B
// for N nodes with at most g ranks each. On one node it is a chain and never beats the ring. Source: NCCL's tuning
// model.
#include "backends/sim/collective_cost.hpp"

namespace strobe::sim {
namespace {

double seconds(const CollectiveLoad& load, const Topology& topology) {
  const int in_node = std::min(topology.ranks, topology.gpus_per_node);
  int levels = 0;
  while ((1 << levels) < topology.nodes) ++levels;
  return 2 * ((in_node - 1) * topology.intra.latency_seconds + levels * topology.inter.latency_seconds) +
         2 * static_cast<double>(load.bytes) / topology.ring_bytes_per_second();
}

const Register<CollectiveCostTag> registered{{
    "all-reduce-tree",
    "pipelined tree between nodes, chain inside a node; best for small buffers on many nodes",
    "NCCL tuning model (tree), latency and bandwidth terms",
    {},
    {CollectiveKind::all_reduce, seconds},
    {},
}};

}  // namespace
}  // namespace strobe::sim
