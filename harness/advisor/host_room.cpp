#include "harness/advisor/host_room.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"

namespace strobe {
namespace {

std::int64_t ranks_of_node(std::int64_t ranks, std::int64_t nodes) { return (ranks + nodes - 1) / nodes; }

}  // namespace

HostRoom host_room(const GraphBytes& bytes, std::int64_t ranks, int nodes, double memory) {
  HostRoom room;
  room.bytes = nodes == 1 ? bytes.all() : bytes.raw + bytes.samples * static_cast<double>(ranks_of_node(ranks, nodes));
  if (memory < bytes.raw + bytes.samples) return room;
  room.ranks =
      bytes.samples > 0
          ? static_cast<std::int64_t>(std::min((memory - bytes.raw) / bytes.samples, static_cast<double>(ranks)))
          : ranks;
  room.nodes = std::max<std::int64_t>(2, ranks_of_node(ranks, room.ranks));
  return room;
}

std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster) {
  const double memory = static_cast<double>(cluster.host.memory_bytes);
  if (memory <= 0) return "";
  const std::int64_t ranks = point.request.ranks;
  const HostRoom room = host_room(bytes, ranks, point.nodes, memory);
  if (room.bytes <= memory) return "";
  const std::string need = fmt::format(
      "the graph takes {} of a node's memory ({} as read, {} prepared{}, {} of samples{}), and a node has {}",
      format_bytes(room.bytes), format_bytes(bytes.raw), format_bytes(bytes.prepared),
      point.nodes == 1 ? "" : " in a file", format_bytes(bytes.samples), point.nodes == 1 ? "" : " for each rank",
      format_bytes(memory));
  if (room.nodes == 0)
    return need + "; no number of nodes is enough, because one process of each reads the whole graph";
  return fmt::format("{}; {} nodes with at most {} ranks each have room", need, room.nodes,
                     ranks_of_node(ranks, room.nodes));
}

}  // namespace strobe
