// The time that a node's host takes for its work.
#pragma once

#include <string_view>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// The share of one rank, or one helper, in its node's host.
struct HostShare {
  double part = 1;   // share of the cores, and of the memory's and the disk's bandwidth, 0 to 1
  int threads = 1;   // workers of each piece of work
  int channels = 1;  // channels of the rank, which divide the part and are assumed to be busy at the same time
  double turns = 1;  // threads that work at the same time for each core of a measured machine; 1 if there are fewer
};

/// Seconds of host work: by the fit of its name if the cluster was measured, with the turns that threads take,
/// otherwise
///   max(flops / (n operations), bytes / min(n core bandwidth, part of the memory's), rounds x random access,
///       disk bytes / part of the disk)
/// with n = min(threads, a channel's part of the cores) workers; costs that the cluster does not know are 0. Rows read
/// or written through an index count whole cache lines. A core has some ten of them under way at once, and its
/// bandwidth includes that. So only accesses that must follow each other (Work::rounds) pay the latency of each.
double host_seconds(const Cluster& cluster, std::string_view name, const Work& work, double disk_bytes,
                    const HostShare& share);

/// The share of each of `ranks` ranks in the host of `rank`'s node: equal parts, assumed to be busy at the same time,
/// as in a program that all ranks run.
HostShare host_share(const Cluster& cluster, int rank, int ranks, int threads);

/// HostShare::turns of a machine on which `working` ranks and helpers work at the same time.
double turns_on(const Cluster& cluster, double working);

}  // namespace strobe::sim
