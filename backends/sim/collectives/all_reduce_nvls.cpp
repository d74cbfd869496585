// All-reduce of S bytes by sums in the switch (NVLink SHARP), where the cluster states its bandwidth B and latency; all
// ranks of the nodes take part.
//   one node:      time = base + alpha + 2 (n-1)/n S / B
//   several nodes: time = base + 2 alpha + levels 2 alpha_tree + max(2 (g-1)/g S / B, c S / B_inter)
// with alpha_tree a tree's hop between nodes by Simple, the only protocol of such sums (nccl_protocols.hpp), and with c
// because a tree between nodes carries S up and S down: on two nodes each direction of a link carries S once (c = 1),
// on more an inner node's carry it twice (c = 2). Source: NCCL's NVLS and NVLSTree; nccl-tests' definition of bus
// bandwidth, in which B is stated.
#include <algorithm>
#include <limits>

#include "backends/sim/cost/collective_cost.hpp"
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

double all_reduce_nvls_seconds(const CollectiveLoad& load, const Topology& topology) {
  const int g = topology.gpus_per_node;
  const bool whole = g > 2 && topology.ranks == topology.nodes * g && topology.places == nullptr;
  if (!(topology.nvls.bytes_per_second > 0) || !whole) return std::numeric_limits<double>::infinity();
  const double bytes = load.bytes;
  const double inside = 2.0 * (g - 1) / g * bytes / topology.nvls.bytes_per_second;
  const double base = call_seconds(topology) + topology.nvls.latency_seconds;
  if (topology.nodes == 1) return base + inside;
  const double crossings = topology.nodes == 2 ? 1 : 2;
  return base + topology.nvls.latency_seconds +
         topology.tree_levels() * 2 * tree_protocols(topology).back().inter_latency_seconds +
         std::max(inside, crossings * bytes / topology.inter.bytes_per_second);
}

/// To the switch and back, and up and down each level of the tree.
double all_reduce_nvls_messages(const CollectiveLoad&, const Topology& topology) {
  return 2.0 * (1 + topology.tree_levels());
}

const Register<CollectiveCostTag> all_reduce_nvls_registered{{
    "all-reduce-nvls",
    "sums in the switch of each node, a tree between nodes; where the cluster states its bandwidth",
    "NCCL 2.30, src/graph/tuning.cc (NVLS, NVLSTree)",
    {},
    {CollectiveKind::all_reduce, all_reduce_nvls_seconds, all_reduce_nvls_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
