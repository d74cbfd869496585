// Refuses points whose hosts have no room for the graph.
#pragma once

#include <string>

#include "backends/cluster.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"
#include "harness/training/host_room.hpp"

namespace strobe {

/// Each process holds its own samples. One process of a node holds the steps as they were read until the prepared graph
/// is written. Several processes of a node share that graph as a mapped file, which needs no memory.
HostNeed host_need(const GraphBytes& bytes);

/// Why the point's hosts have no room for the graph; "" if they have, or if the cluster does not say how large they
/// are.
std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster);

}  // namespace strobe
