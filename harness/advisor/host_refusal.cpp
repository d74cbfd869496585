#include "harness/advisor/host_refusal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"

namespace strobe {

HostNeed host_need(const GraphBytes& bytes) {
  const double passing = std::max(bytes.raw, bytes.samples);  // until each of them is a file
  return {passing, 0, 0, bytes.all() - passing};
}

std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster) {
  const double memory = static_cast<double>(cluster.host.memory_bytes);
  if (memory <= 0) return "";
  const std::int64_t ranks = point.request.ranks;
  const HostRoom room = host_room(host_need(bytes), ranks, point.nodes, memory);
  if (room.bytes <= memory) return "";
  const bool shared = room.bytes != bytes.all();
  return fmt::format(
      "the graph takes {} of a node's memory ({} as read, {} prepared, {} of samples{}), and a node has {}; {}",
      format_bytes(room.bytes), format_bytes(bytes.raw), format_bytes(bytes.prepared), format_bytes(bytes.samples),
      shared ? "; each becomes a file in turn" : "", format_bytes(memory), enough_nodes(room, ranks));
}

}  // namespace strobe
