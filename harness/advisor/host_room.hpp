// Whether the hosts of a cluster have room for the graph that their processes hold.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cluster.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/hybrid_batches/graph_bytes.hpp"

namespace strobe {

/// How many copies of the graph a node holds, and how many it has room for.
struct HostRoom {
  std::int64_t copies = 1;  // one for a job on one node, whose ranks are threads; else one for each rank of a node
  std::int64_t room = 0;    // copies that fit
  std::int64_t nodes = 0;   // that the ranks need if each has `room` of them; 0: not one copy fits
  bool fits() const { return copies <= room; }
};

/// `ranks` on `nodes`, each with `memory` bytes, where a copy takes `bytes` > 0.
HostRoom host_room(double bytes, std::int64_t ranks, int nodes, double memory);

/// Why the point's hosts have no room for the graph; "" if they have, or if the cluster does not say how large they
/// are. Counts the steps as they were read and the prepared graph, which every process holds whole.
std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster);

}  // namespace strobe
