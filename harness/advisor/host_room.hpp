// Compares the memory of a cluster's hosts with the graph that their processes hold.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cluster.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"

namespace strobe {

/// The bytes that a node's memory must hold. Ranks of a job on one node are threads and hold everything once. On
/// several nodes each rank is a process with its own samples. Several processes of a node share the prepared graph as
/// a mapped file, which needs no memory. One of them holds the steps as they were read until that file is written. A
/// process that is alone on its node holds everything.
struct HostRoom {
  double bytes = 0;        // of a node
  std::int64_t nodes = 0;  // the fewest of several that have room; 0: no number has
};

/// `ranks` on `nodes`, each with `memory` bytes.
HostRoom host_room(const GraphBytes& bytes, std::int64_t ranks, int nodes, double memory);

/// Why the point's hosts have no room for the graph; "" if they have, or if the cluster does not say how large they
/// are.
std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster);

}  // namespace strobe
