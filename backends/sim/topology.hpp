// Topology: which links lie between the ranks of one simulated job. Ranks fill the nodes of the cluster in order.
#pragma once

#include <algorithm>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// A link by Hockney's model: a message of S bytes takes latency_seconds + S / bytes_per_second.
struct Link {
  double latency_seconds = 0;
  double bytes_per_second = 1;
};

/// The part of a cluster that `ranks` ranks occupy.
struct Topology {
  int ranks = 1;
  int nodes = 1;           // nodes that hold at least one rank
  int gpus_per_node = 1;
  Link intra;              // per GPU and direction
  Link inter;              // per node and direction, shared by the node's GPUs

  int node_of(int rank) const { return rank / gpus_per_node; }
  const Link& between(int a, int b) const { return node_of(a) == node_of(b) ? intra : inter; }

  /// Bytes per second that every hop of a ring (or tree) through all ranks can carry at once. A ring leaves and enters
  /// each node once, so that hop has the node's network to itself.
  double ring_bytes_per_second() const {
    return nodes > 1 ? std::min(intra.bytes_per_second, inter.bytes_per_second) : intra.bytes_per_second;
  }

  /// Seconds of latency along the chain through all ranks: ranks - 1 hops, nodes - 1 of them between nodes.
  double chain_latency_seconds() const {
    return (ranks - nodes) * intra.latency_seconds + (nodes - 1) * inter.latency_seconds;
  }

  /// The larger of the latencies that occur between these ranks.
  double largest_latency_seconds() const {
    return nodes > 1 ? std::max(intra.latency_seconds, inter.latency_seconds) : intra.latency_seconds;
  }
};

/// Places `ranks` ranks on the cluster. Throws InvalidRequest("--ranks") when it has fewer GPUs.
Topology make_topology(const Cluster& cluster, int ranks);

}  // namespace strobe::sim
