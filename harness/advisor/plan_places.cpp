#include "harness/advisor/plan_places.hpp"

#include <algorithm>

namespace strobe {
namespace {

std::vector<int> nodes_of(const PlanSpace& space, const Cluster& cluster) {
  std::vector<int> counts = space.nodes;
  for (int nodes = 1; space.nodes.empty() && nodes < cluster.nodes; nodes *= 2) counts.push_back(nodes);
  if (space.nodes.empty()) counts.push_back(cluster.nodes);
  return counts;
}

std::vector<PlanPlace> places_of(const PlanSpace& space, const Cluster& cluster) {
  std::vector<PlanPlace> places;
  for (const int gpus : space.gpus) {
    if (suit_nodes(cluster, gpus)) places.push_back({std::max(1, gpus / cluster.gpus_per_node), gpus});
  }
  if (!space.gpus.empty()) return places;
  for (const int nodes : nodes_of(space, cluster)) {
    for (int few = 1; nodes == 1 && few < cluster.gpus_per_node; few *= 2) places.push_back({1, few});
    places.push_back({nodes, nodes * cluster.gpus_per_node});
  }
  return places;
}

}  // namespace

std::vector<PlanSite> sites_of(const PlanSpace& space) {
  std::vector<PlanSite> sites;
  for (const std::string& text : space.clusters.empty() ? cluster_names() : space.clusters) {
    const auto cluster = load_cluster(text);
    sites.push_back({text, cluster, places_of(space, *cluster)});
  }
  return sites;
}

bool suit_nodes(const Cluster& cluster, int gpus) {
  return gpus < cluster.gpus_per_node || gpus % cluster.gpus_per_node == 0;
}

}  // namespace strobe
