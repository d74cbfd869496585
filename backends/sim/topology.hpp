// Topology: which links lie between the ranks of one simulated job. Ranks fill the nodes of the cluster in order.
#pragma once

#include <algorithm>
#include <string>

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
  int nodes = 1;  // nodes that hold at least one rank
  int gpus_per_node = 1;
  Link intra;                                // per GPU and direction
  Link inter;                                // per node and direction, shared by the node's GPUs
  int nic_groups = 1;                        // per node: GPUs of a group share inter.bytes_per_second / nic_groups
  double bridge_bytes_per_second = 0;        // all traffic between the GPUs of one node together; 0: no such limit
  std::string architecture;                  // of the GPUs, for NCCL's limits; "": none
  bool hierarchical = false;                 // the collectives library reduces inside the nodes first
  const Calibration* calibration = nullptr;  // the cluster's, which outlives this

  int node_of(int rank) const { return rank / gpus_per_node; }
  int ranks_of(int node) const { return std::min(gpus_per_node, ranks - node * gpus_per_node); }
  /// Which of all NIC groups of the job `rank` belongs to: node * nic_groups + group.
  int nic_group_of(int rank) const {
    return node_of(rank) * nic_groups + rank % gpus_per_node * nic_groups / gpus_per_node;
  }
  double nic_bytes_per_second() const { return inter.bytes_per_second / nic_groups; }
  const Link& between(int a, int b) const { return node_of(a) == node_of(b) ? intra : inter; }

  /// Bytes per second that every hop of a ring (or tree) through all ranks can carry at once. A ring leaves and enters
  /// each node once, so that hop has the node's network to itself; its hops inside a node share the node's bridge.
  double ring_bytes_per_second() const {
    const double inside = inside_bytes_per_second();
    return nodes > 1 ? std::min(inside, inter.bytes_per_second) : inside;
  }

  /// The same of a ring inside one node.
  double inside_bytes_per_second() const {
    const int members = std::min(ranks, gpus_per_node), hops = nodes > 1 ? members - 1 : members;
    if (bridge_bytes_per_second == 0 || hops < 1) return intra.bytes_per_second;
    return std::min(intra.bytes_per_second, bridge_bytes_per_second / hops);
  }

  /// Seconds of latency along the chain through all ranks: ranks - 1 hops, nodes - 1 of them between nodes.
  double chain_latency_seconds() const { return chain_latency_seconds(intra.latency_seconds, inter.latency_seconds); }
  double chain_latency_seconds(double inside, double outside) const {
    return (ranks - nodes) * inside + (nodes - 1) * outside;
  }

  /// Levels of a binary tree over the nodes.
  int tree_levels() const {
    int levels = 0;
    while ((1 << levels) < nodes) ++levels;
    return levels;
  }

  /// The larger of the latencies that occur between these ranks.
  double largest_latency_seconds() const {
    if (nodes == 1) return intra.latency_seconds;
    return ranks > nodes ? std::max(intra.latency_seconds, inter.latency_seconds) : inter.latency_seconds;
  }
};

/// Places `ranks` ranks on the cluster. Throws InvalidRequest("--ranks") when it has fewer GPUs.
Topology make_topology(const Cluster& cluster, int ranks);

}  // namespace strobe::sim
