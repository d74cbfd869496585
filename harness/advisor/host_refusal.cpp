#include "harness/advisor/host_refusal.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace strobe {

HostNeed host_need(const GraphBytes& bytes) { return {bytes.raw, bytes.samples, 0, bytes.prepared}; }

std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster) {
  const double memory = static_cast<double>(cluster.host.memory_bytes);
  if (memory <= 0) return "";
  const std::int64_t ranks = point.request.ranks;
  const HostRoom room = host_room(host_need(bytes), ranks, point.nodes, memory);
  if (room.bytes <= memory) return "";
  const bool shared = room.bytes != bytes.all();
  return fmt::format(
      "the graph takes {} of a node's memory ({} as read, {} prepared{}, {} of samples{}), and a node has {}; {}",
      format_bytes(room.bytes), format_bytes(bytes.raw), format_bytes(bytes.prepared), shared ? " in a file" : "",
      format_bytes(bytes.samples), shared ? " for each rank" : "", format_bytes(memory), enough_nodes(room, ranks));
}

}  // namespace strobe
