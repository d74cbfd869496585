// The time that a node's host takes for its work.
#pragma once

#include <string_view>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// The share of one rank, or one helper, in its node's host.
struct HostShare {
  double part = 1;  // of the cores, the memory's bandwidth and the disk's, 0 to 1
  int threads = 1;  // that carry the work out
  int lanes = 1;    // of the rank, which divide the part, taken to be busy at the same time
};

/// Seconds of host work: by the fit of its name where the cluster was measured, else
///   max(flops / (n operations), bytes / min(n core bandwidth, part of the memory's), rounds x random access,
///       disk bytes / part of the disk)
/// with n = min(threads, a lane's part of the cores) workers; what the cluster does not know takes no time. Rows read
/// or written through an index count whole cache lines: a core has some ten of them under way at once, which its
/// bandwidth already says, so only what must go one after the other (Work::rounds) pays the latency of each.
double host_seconds(const Cluster& cluster, std::string_view name, const Work& work, double disk_bytes,
                    const HostShare& share);

/// The share of each of `ranks` ranks in the host of `rank`'s node: equal parts, assumed to be busy at the same time,
/// as in a program that all ranks run.
HostShare host_share(const Cluster& cluster, int rank, int ranks, int threads);

}  // namespace strobe::sim
