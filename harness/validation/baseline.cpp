// Plain roofline plus ring. Returns the largest rank's sum; invariants: never below 0, and 0 for collectives of one
// rank. Cost O(spans).
#include "harness/validation/baseline.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// Cost of a collective per step and per byte.
struct RingLink {
  double latency_seconds = 0;
  double seconds_per_byte = 0;
};

double per_byte(double bytes_per_second) { return bytes_per_second > 0 ? 1 / bytes_per_second : 0; }

RingLink ring_link(const Cluster& cluster, std::size_t ranks) {
  if (static_cast<std::int64_t>(ranks) <= cluster.gpus_per_node) {
    return {cluster.intra_node_latency_seconds, per_byte(cluster.intra_node_bytes_per_second)};
  }
  return {cluster.inter_node_latency_seconds,
          per_byte(cluster.inter_node_bytes_per_second / static_cast<double>(cluster.gpus_per_node))};
}

double ring_steps(std::string_view collective, std::size_t ranks) {
  const double others = static_cast<double>(ranks) - 1;
  if (collective == "all_reduce") return 2 * others;
  if (collective == "send" || collective == "receive") return 1;
  return others;
}

double span_seconds(const Span& span, const Cluster& cluster, const RingLink& link, double flops, std::size_t ranks) {
  if (span.phase == Phase::compute) {
    return std::max(span.work.flops / flops, span.work.bytes() / cluster.gpu.memory_bytes_per_second);
  }
  if (span.phase == Phase::transfer && !cluster.shared_host_memory) {
    return static_cast<double>(span.transfer_bytes) * per_byte(cluster.host_to_device_bytes_per_second);
  }
  // A collective that overlaps compute leaves a second span, which does not block and carries no bytes.
  if (span.phase == Phase::communicate && ranks > 1 && span.blocking) {
    return ring_steps(span.name, ranks) * link.latency_seconds +
           static_cast<double>(span.sent_bytes) * link.seconds_per_byte;
  }
  return 0;
}

}  // namespace

double roofline_ring_seconds(const std::vector<std::vector<Span>>& spans, const Cluster& cluster, bool fp64) {
  const RingLink link = ring_link(cluster, spans.size());
  const double flops = fp64 ? cluster.gpu.flops_fp64_per_second : cluster.gpu.flops_fp32_per_second;
  double most = 0;
  for (const std::vector<Span>& rank : spans) {
    double sum = 0;
    for (const Span& span : rank) sum += span_seconds(span, cluster, link, flops, spans.size());
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace strobe
