#include "harness/training/host_room.hpp"

#include <fmt/format.h>

namespace strobe {
namespace {

std::int64_t ranks_of_node(std::int64_t ranks, std::int64_t nodes) { return (ranks + nodes - 1) / nodes; }

}  // namespace

HostRoom host_room(const HostNeed& need, std::int64_t ranks, std::int64_t nodes, double memory) {
  const auto needed = [&](std::int64_t on) {
    const std::int64_t together = ranks_of_node(ranks, on), processes = on > 1 ? together : 1;
    return need.node + static_cast<double>(processes) * need.process + static_cast<double>(together) * need.rank +
           (processes == 1 ? need.alone : 0);
  };
  HostRoom room;
  room.bytes = needed(nodes);
  for (std::int64_t several = 2; several <= ranks && room.nodes == 0; ++several)
    if (needed(several) <= memory) room.nodes = several;
  return room;
}

std::string enough_nodes(const HostRoom& room, std::int64_t ranks) {
  if (room.nodes == 0) return "more nodes do not help";
  const std::int64_t most = ranks_of_node(ranks, room.nodes);
  return fmt::format("{} nodes with at most {} {} each have enough memory", room.nodes, most,
                     most == 1 ? "rank" : "ranks");
}

}  // namespace strobe
