// Barrier of n ranks: an empty all-reduce along a binary tree, once up and once down: 2 ceil(log2 n) alpha, with the
// largest latency between the ranks as alpha, because some pair of every round lies in two nodes.
#include "backends/sim/cost/collective_cost.hpp"

namespace strobe::sim {
namespace {

double barrier_tree_messages(const CollectiveLoad&, const Topology& topology) {
  int levels = 0;
  while ((1 << levels) < topology.ranks) ++levels;
  return 2 * levels;
}

double barrier_tree_seconds(const CollectiveLoad& load, const Topology& topology) {
  return barrier_tree_messages(load, topology) * topology.largest_latency_seconds();
}

const Register<CollectiveCostTag> barrier_tree_registered{{
    "barrier-tree",
    "an empty message up and down a binary tree",
    "recursive-doubling latency, 2 log2 P rounds",
    {},
    {CollectiveKind::barrier, barrier_tree_seconds, barrier_tree_messages},
    {},
}};

}  // namespace
}  // namespace strobe::sim
