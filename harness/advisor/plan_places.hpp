// The places of a plan: clusters, with the nodes and GPUs to try on each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cluster.hpp"
#include "harness/advisor/plan_points.hpp"

namespace strobe {

/// Nodes, and the GPUs that are used on them.
struct PlanPlace {
  int nodes = 1, ranks = 1;
};

/// A cluster with the places to try.
struct PlanSite {
  std::string text;  // as the user requested it
  std::shared_ptr<const Cluster> cluster;
  std::vector<PlanPlace> places;
};

/// The clusters of the space. Each has the GPUs that the user counts and that suit its nodes, or those of the node
/// counts: all, and on one node also 1, 2, 4, ... of them.
std::vector<PlanSite> sites_of(const PlanSpace& space);

/// Whether that many GPUs are whole nodes of the cluster, or a part of one node.
bool suit_nodes(const Cluster& cluster, int gpus);

}  // namespace strobe
