// Makes the circles of a split. Invariant: ranks of one split share its circles, so a member list is held once.
#include "backends/sim/circle.hpp"

namespace strobe::sim {

Circle& Circle::group(std::uint64_t split, std::size_t index, const RankGroups& groups) {
  std::vector<std::unique_ptr<Circle>>& circles = splits_[split];
  if (circles.empty()) {
    const std::vector<Topology> topologies = group_topologies(topology, groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<int> members;
      for (const int rank : groups[g]) members.push_back(world_rank(ranks, rank));
      circles.push_back(
          std::make_unique<Circle>(topologies[g], std::make_shared<const std::vector<int>>(std::move(members))));
    }
  }
  return *circles[index];
}

}  // namespace strobe::sim
