// Returns times that grow with the work and shrink with the share. Cost: O(1). The model is a roofline of the node's
// memory and cores, plus the latency of indexed rows; no overlap between ranks is modelled beyond the equal
// division of the node.
#include "backends/sim/cost/host_cost.hpp"

#include <algorithm>
#include <cmath>

namespace strobe::sim {
namespace {

double quotient(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Bytes between memory and a core. Rows read or written through an index are fetched in whole lines, again for each
/// access, because the arrays that the host gathers from are larger than its caches.
double line_bytes(const Work& work) {
  constexpr double line = 64;
  const Gather& gather = work.gather;
  if (!(gather.row_bytes > 0)) return work.bytes();
  const double lines = std::ceil(gather.row_bytes / line) * line / gather.row_bytes;
  return work.bytes() - gather.distinct_bytes + gather.accessed_bytes * lines;
}

/// The smaller of two rates, where 0 means unknown.
double smaller_known(double a, double b) {
  if (a <= 0 || b <= 0) return std::max(a, b);
  return std::min(a, b);
}

}  // namespace

double host_seconds(const Cluster& cluster, std::string_view name, const Work& work, double disk_bytes,
                    const HostShare& share) {
  const HostModel& host = cluster.host;
  const double part = share.part / share.channels;
  // A rank has a core at least; its channels may have less than one each.
  const double cores = host.cores > 0 ? std::max(1.0, host.cores * share.part) / share.channels : share.threads;
  const double workers = std::min<double>(share.threads, cores);
  const double disk = quotient(disk_bytes, host.disk_bytes_per_second * part);
  if (cluster.calibration != nullptr) {
    // Fitted with one worker on a machine that did nothing else.
    const double fitted = cluster.calibration->host_seconds(name, work);
    const double by_memory = quotient(line_bytes(work), host.memory_bytes_per_second * part);
    if (fitted >= 0) return std::max({share.turns * fitted / workers, by_memory, disk});
  }
  const double bandwidth = smaller_known(host.core_bytes_per_second * workers, host.memory_bytes_per_second * part);
  return std::max({quotient(work.flops, host.core_operations_per_second * workers),
                   quotient(line_bytes(work), bandwidth), work.rounds * host.random_access_seconds, disk});
}

HostShare host_share(const Cluster& cluster, int rank, int ranks, int threads) {
  const int first = rank - rank % cluster.gpus_per_node;
  const int beside = std::clamp(ranks - first, 1, cluster.gpus_per_node);
  return {1.0 / beside, std::max(1, threads)};
}

double turns_on(const Cluster& cluster, double working) {
  const double cores = cluster.calibration == nullptr ? 0 : cluster.calibration->shared_cores();
  return cores > 0 ? std::max(1.0, working / cores) : 1;
}

}  // namespace strobe::sim
