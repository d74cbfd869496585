#include "harness/advisor/host_room.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace strobe {
namespace {

std::int64_t ranks_of_node(std::int64_t ranks, std::int64_t nodes) { return (ranks + nodes - 1) / nodes; }

}  // namespace

HostRoom host_room(const GraphBytes& bytes, std::int64_t ranks, int nodes, double memory) {
  const auto needed = [&](std::int64_t on) {
    const std::int64_t together = ranks_of_node(ranks, on);
    const bool shared = on > 1 && together > 1;
    return shared ? bytes.raw + bytes.samples * static_cast<double>(together) : bytes.all();
  };
  HostRoom room;
  room.bytes = needed(nodes);
  for (std::int64_t several = 2; several <= ranks && room.nodes == 0; ++several)
    if (needed(several) <= memory) room.nodes = several;
  return room;
}

std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster) {
  const double memory = static_cast<double>(cluster.host.memory_bytes);
  if (memory <= 0) return "";
  const std::int64_t ranks = point.request.ranks;
  const HostRoom room = host_room(bytes, ranks, point.nodes, memory);
  if (room.bytes <= memory) return "";
  const bool shared = room.bytes != bytes.all();
  const std::string need = fmt::format(
      "the graph takes {} of a node's memory ({} as read, {} prepared{}, {} of samples{}), and a node has {}",
      format_bytes(room.bytes), format_bytes(bytes.raw), format_bytes(bytes.prepared), shared ? " in a file" : "",
      format_bytes(bytes.samples), shared ? " for each rank" : "", format_bytes(memory));
  if (room.nodes == 0) return need + "; more nodes do not help";
  const std::int64_t most = ranks_of_node(ranks, room.nodes);
  return fmt::format("{}; {} nodes with at most {} {} each have enough memory", need, room.nodes, most,
                     most == 1 ? "rank" : "ranks");
}

}  // namespace strobe
