#include "backends/sim/topology.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace strobe::sim {
namespace {

/// Where the ranks of a group lie; `nodes` gets, per node of the group, the node of `whole`.
Places places_of(const Topology& whole, const std::vector<int>& group, std::vector<int>& nodes) {
  Places places;
  for (std::size_t member = 0; member < group.size(); ++member) {
    const int node = whole.node_of(group[member]);
    if (nodes.empty() || nodes.back() != node) {
      nodes.push_back(node);
      places.first.push_back(static_cast<int>(member));
    }
    places.nodes.push_back(static_cast<int>(nodes.size()) - 1);
    places.nics.push_back(whole.nic_of(group[member]));
  }
  places.first.push_back(static_cast<int>(group.size()));
  return places;
}

Topology of_places(const Topology& whole, const Places& places) {
  Topology topology = whole;
  topology.ranks = static_cast<int>(places.nodes.size());
  topology.nodes = static_cast<int>(places.first.size()) - 1;
  topology.gpus_per_node = 1;
  topology.places = std::make_shared<const Places>(places);
  for (int node = 0; node < topology.nodes; ++node) {
    topology.gpus_per_node = std::max(topology.gpus_per_node, topology.ranks_of(node));
  }
  return topology;
}

}  // namespace

std::vector<Topology> group_topologies(const Topology& whole, const std::vector<std::vector<int>>& groups) {
  std::vector<Topology> topologies;
  std::vector<std::vector<int>> nodes(groups.size());
  std::vector<int> spanning(whole.nodes, 0), crossing(spanning);  // groups per node
  for (std::size_t g = 0; g < groups.size(); ++g) {
    topologies.push_back(of_places(whole, places_of(whole, groups[g], nodes[g])));
    for (int node = 0; node < topologies[g].nodes; ++node) {
      const std::size_t place = nodes[g][node];
      if (topologies[g].nodes > 1) ++spanning[place];
      if (topologies[g].ranks_of(node) > 1) ++crossing[place];
    }
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    int networks = 1, bridges = 1;
    for (const int node : nodes[g]) {
      networks = std::max(networks, spanning[node]);
      bridges = std::max(bridges, crossing[node]);
    }
    if (topologies[g].nodes > 1) topologies[g].inter.bytes_per_second /= networks;
    topologies[g].bridge_bytes_per_second /= bridges;
  }
  return topologies;
}

Topology make_topology(const Cluster& cluster, int ranks) {
  if (ranks < 1 || ranks > cluster.gpus()) {
    throw InvalidRequest(
        "--ranks",
        fmt::format("{} ranks do not fit cluster {}: {} nodes x {} GPUs = {}; enlarge it with --set cluster.nodes=N",
                    ranks, cluster.name, cluster.nodes, cluster.gpus_per_node, cluster.gpus()));
  }
  Topology topology;
  topology.ranks = ranks;
  topology.gpus_per_node = cluster.gpus_per_node;
  topology.nodes = (ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  topology.intra = {cluster.intra_node_latency_seconds, cluster.intra_node_bytes_per_second};
  topology.inter = {cluster.inter_node_latency_seconds, cluster.inter_node_bytes_per_second};
  topology.nic_groups = std::min(cluster.nics_per_node, cluster.gpus_per_node);
  topology.bridge_bytes_per_second = cluster.host_bridge_bytes_per_second;
  topology.architecture = cluster.gpu.architecture;
  topology.hierarchical = cluster.hierarchical_collectives;
  topology.all_to_all = cluster.all_to_all;
  topology.exchange_efficiency = cluster.all_to_all_efficiency;
  topology.exchange_half_bytes = cluster.all_to_all_half_bytes;
  topology.exchange_peer_seconds = cluster.all_to_all_peer_seconds;
  topology.message_seconds = cluster.message_seconds;
  topology.nccl_latency_seconds = cluster.nccl_latency_seconds;
  topology.nvls = {cluster.nvls_latency_seconds, cluster.nvls_bytes_per_second};
  topology.calibration = cluster.calibration.get();
  // A node's only GPU has no link inside the node; what leaves it goes straight to the network.
  if (cluster.gpus_per_node == 1 && topology.intra.bytes_per_second == 0) topology.intra = topology.inter;
  return topology;
}

}  // namespace strobe::sim
