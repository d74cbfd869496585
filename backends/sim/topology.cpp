#include "backends/sim/topology.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace strobe::sim {

Topology make_topology(const Cluster& cluster, int ranks) {
  const std::int64_t gpus = static_cast<std::int64_t>(cluster.nodes) * cluster.gpus_per_node;
  if (ranks < 1 || ranks > gpus) {
    throw InvalidRequest("--ranks", fmt::format("{} ranks do not fit cluster {}: {} nodes x {} GPUs = {}", ranks,
                                                cluster.name, cluster.nodes, cluster.gpus_per_node, gpus));
  }
  Topology topology;
  topology.ranks = ranks;
  topology.gpus_per_node = cluster.gpus_per_node;
  topology.nodes = (ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  topology.intra = {cluster.intra_node_latency_seconds, cluster.intra_node_bytes_per_second};
  topology.inter = {cluster.inter_node_latency_seconds, cluster.inter_node_bytes_per_second};
  return topology;
}

}  // namespace strobe::sim
