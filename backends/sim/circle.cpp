// Makes the circles of a split. Invariant: ranks of one split share its circles, so a member list is held once.
#include "backends/sim/circle.hpp"

namespace strobe::sim {

Circle& Circle::group(std::uint64_t split, std::size_t index, const RankGroups& groups) {
  std::vector<std::unique_ptr<Circle>>& circles = splits_[split];
  if (circles.empty()) {
    std::vector<std::vector<Topology>> by_group(groups.size());
    for (const Topology& whole : topologies) {
      std::vector<Topology> parts = group_topologies(whole, groups);
      for (std::size_t g = 0; g < groups.size(); ++g) by_group[g].push_back(std::move(parts[g]));
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<int> members;
      for (const int rank : groups[g]) members.push_back(world_rank(ranks, rank));
      circles.push_back(std::make_unique<Circle>(std::move(by_group[g]),
                                                 std::make_shared<const std::vector<int>>(std::move(members))));
    }
  }
  return *circles[index];
}

}  // namespace strobe::sim
