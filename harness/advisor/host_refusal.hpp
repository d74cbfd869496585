// Refuses points whose hosts have no room for the graph.
#pragma once

#include <string>

#include "backends/cluster.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/training/host_room.hpp"

namespace strobe {

/// Processes of a node share the steps as they were read, the samples and the prepared graph as mapped files, which
/// need no memory. One process of the node holds the steps, and then the samples, until they are written. A process
/// that is alone on its node holds all three.
HostNeed host_need(const GraphBytes& bytes);

/// Why the point's hosts have no room for the graph; "" if they have, or if the cluster does not say how large they
/// are.
std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster);

}  // namespace strobe
