// Compares the memory of a node with what the processes of a job hold there.
#pragma once

#include <cstdint>
#include <string>

namespace strobe {

/// Bytes of host memory by who holds them.
struct HostNeed {
  double node = 0;     // once on each node
  double process = 0;  // each process
  double rank = 0;     // each rank
  double alone = 0;    // a process that shares its node with no other; others read it from a mapped file
};

/// Ranks of a job on one node are threads of one process. On several nodes each rank is a process.
struct HostRoom {
  double bytes = 0;        // of a node
  std::int64_t nodes = 0;  // the fewest of several that have room; 0: no number has
};

/// `ranks` on `nodes`, each with `memory` bytes.
HostRoom host_room(const HostNeed& need, std::int64_t ranks, std::int64_t nodes, double memory);
/// "4 nodes with at most 2 ranks each have enough memory", or that more nodes do not help.
std::string enough_nodes(const HostRoom& room, std::int64_t ranks);

}  // namespace strobe
