#include "harness/advisor/host_room.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"

namespace strobe {

HostRoom host_room(double bytes, std::int64_t ranks, int nodes, double memory) {
  HostRoom room;
  if (nodes > 1) room.copies = (ranks + nodes - 1) / nodes;
  room.room = static_cast<std::int64_t>(std::min(memory / bytes, static_cast<double>(ranks)));
  if (room.room > 0) room.nodes = (ranks + room.room - 1) / room.room;
  return room;
}

std::string host_refusal(const GraphBytes& bytes, const PlanPoint& point, const Cluster& cluster) {
  const double memory = static_cast<double>(cluster.host.memory_bytes), copy = bytes.all();
  if (memory <= 0 || copy <= 0) return "";
  const HostRoom room = host_room(copy, point.request.ranks, point.nodes, memory);
  if (room.fits()) return "";
  const std::string need = fmt::format(
      "{} of the graph on a node take {} of the host's memory (each {} as read, {} prepared and {} of samples), and a "
      "node has {}",
      room.copies == 1 ? "one copy" : fmt::format("{} copies", room.copies),
      format_bytes(copy * static_cast<double>(room.copies)), format_bytes(bytes.raw), format_bytes(bytes.prepared),
      format_bytes(bytes.samples), format_bytes(memory));
  if (room.nodes == 0) return need + "; no number of nodes is enough, because each process holds the whole graph";
  return fmt::format("{}; {} ranks need {} nodes with {} of their GPUs each ({}:nodes={},gpus_per_node={})", need,
                     point.request.ranks, room.nodes, room.room, cluster_base(point.cluster), room.nodes, room.room);
}

}  // namespace strobe
