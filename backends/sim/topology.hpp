// Topology: the links between the ranks of one simulated job, or of a group of them. The job's ranks fill the nodes of
// the cluster in order; a group's ranks are where the job put them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// A link by Hockney's model: a message of S bytes takes latency_seconds + S / bytes_per_second.
struct Link {
  double latency_seconds = 0;
  double bytes_per_second = 1;
};

/// The places of a group's ranks. Nodes are those that hold a member, counted from 0; members of one node are
/// consecutive.
struct Places {
  std::vector<int> nodes;  // per rank
  std::vector<int> nics;   // per rank: the number of its NIC group in the node
  std::vector<int> first;  // per node: its first rank; then the number of ranks
};

/// The part of a cluster that `ranks` ranks occupy.
struct Topology {
  int ranks = 1;
  int nodes = 1;                             // nodes that hold at least one rank
  int gpus_per_node = 1;                     // for a group: the most ranks in one node
  Link intra;                                // per GPU and direction
  Link inter;                                // per node and direction, shared by the node's GPUs
  int nic_groups = 1;                        // per node; GPUs of a NIC group share inter.bytes_per_second / nic_groups
  double bridge_bytes_per_second = 0;        // all traffic between the GPUs of one node together; 0: no such limit
  std::string architecture;                  // of the GPUs, for NCCL's limits; "": none
  bool hierarchical = false;                 // the collectives library reduces inside the nodes first
  AllToAll all_to_all = AllToAll::grouped;   // how the collectives library exchanges
  double exchange_efficiency = 1;            // share of the network that large messages of an exchange get
  double exchange_half_bytes = 0;            // a message to another node takes as long as one with this many bytes more
  double exchange_peer_seconds = 0;          // the sender's cost for each peer, when ranks are on several nodes
  double message_seconds = 0;                // a rank's time to issue one message
  Link nvls = {0, 0};                        // sums in the switch of a whole node; bandwidth 0: it has none
  double nccl_latency_seconds = 0;           // of the network, as its plug-in tells NCCL; 0: the link's own
  const Calibration* calibration = nullptr;  // the cluster's, which outlives this

  std::shared_ptr<const Places> places = nullptr;  // for a group; null: ranks fill the nodes in order

  int node_of(int rank) const { return places == nullptr ? rank / gpus_per_node : places->nodes[rank]; }
  /// Ranks [first_of(node), first_of(node + 1)) are those of the node.
  int first_of(int node) const {
    return places == nullptr ? std::min(ranks, node * gpus_per_node) : places->first[node];
  }
  int ranks_of(int node) const { return first_of(node + 1) - first_of(node); }
  /// The number of the NIC group in its node that `rank` is bound to.
  int nic_of(int rank) const {
    return places == nullptr ? rank % gpus_per_node * nic_groups / gpus_per_node : places->nics[rank];
  }
  /// The number of `rank`'s NIC group among all of the job: node * nic_groups + group.
  int nic_group_of(int rank) const { return node_of(rank) * nic_groups + nic_of(rank); }
  double nic_bytes_per_second() const { return inter.bytes_per_second / nic_groups; }
  const Link& between(int a, int b) const { return node_of(a) == node_of(b) ? intra : inter; }

  /// Seconds for which a message keeps a rank from issuing its next one.
  double issue_seconds(int from, int to) const {
    return node_of(from) == node_of(to) ? message_seconds : std::max(message_seconds, exchange_peer_seconds);
  }

  /// Bytes per second that every hop of a ring (or tree) through all ranks can carry at once. A ring leaves and enters
  /// each node once, so that hop has the node's network to itself; its hops inside a node share the node's bridge.
  double ring_bytes_per_second() const {
    const double inside = inside_bytes_per_second();
    return nodes > 1 ? std::min(inside, inter.bytes_per_second) : inside;
  }

  /// The same for a ring inside one node.
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

  /// The largest latency between any two of these ranks.
  double largest_latency_seconds() const {
    if (nodes == 1) return intra.latency_seconds;
    return ranks > nodes ? std::max(intra.latency_seconds, inter.latency_seconds) : inter.latency_seconds;
  }
};

/// Places `ranks` ranks on the cluster. Throws InvalidRequest("--ranks") when the cluster has fewer GPUs.
Topology make_topology(const Cluster& cluster, int ranks);

/// The topologies of disjoint groups of the ranks of `whole`. The groups run the same program at the same time, so
/// groups that meet in a node share its common links: the network among groups with ranks there and elsewhere, the
/// bridge among groups with several ranks there. If a group shares unevenly, the most crowded node decides for all of
/// its nodes. Cost: O(ranks in groups).
std::vector<Topology> group_topologies(const Topology& whole, const std::vector<std::vector<int>>& groups);

}  // namespace strobe::sim
