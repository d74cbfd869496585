#include "backends/sim/topology.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace strobe::sim {

Topology make_topology(const Cluster& cluster, int ranks) {
  if (ranks < 1 || ranks > cluster.gpus()) {
    throw InvalidRequest("--ranks",
                         fmt::format("{} ranks do not fit cluster {}: {} nodes x {} GPUs = {}; a larger one "
                                     "is --set cluster.nodes=N",
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
  topology.calibration = cluster.calibration.get();
  // A node's only GPU has no link inside the node; what leaves it goes straight to the network.
  if (cluster.gpus_per_node == 1 && topology.intra.bytes_per_second == 0) topology.intra = topology.inter;
  return topology;
}

}  // namespace strobe::sim
