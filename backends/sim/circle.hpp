// Circle: the ranks of one communicator of a simulated job, all or a group, and their collectives under way.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/sim/flight.hpp"

namespace strobe::sim {

/// Ranks are those of the circle, 0 to topology.ranks - 1. Only the job's thread uses it.
class Circle {
 public:
  /// Sender, receiver, tag.
  using Channel = std::tuple<int, int, int>;
  struct ChannelState {
    std::deque<std::shared_ptr<Flight>> open;
    Instant free;
  };

  /// `by_lane`: its links in the described cluster and in each draw. `members` null: all ranks of the job.
  Circle(std::vector<Topology> by_lane, MemberRanks members)
      : topologies(std::move(by_lane)),
        ranks(std::move(members)),
        entered(static_cast<std::size_t>(topologies.front().ranks), 0) {}

  /// The circle of group `index` in split number `split` of this one. All its ranks pass the same groups; the first
  /// call makes all circles of the split. They live as long as this one. Cost: O(ranks in groups) once.
  Circle& group(std::uint64_t split, std::size_t index, const RankGroups& groups);

  const std::vector<Topology> topologies;                 // by lane (instant.hpp)
  const MemberRanks ranks;                                // their numbers in the job
  std::vector<std::uint64_t> entered;                     // collectives that each rank has entered
  std::map<std::uint64_t, std::shared_ptr<Flight>> open;  // collectives that some rank has yet to enter
  std::map<Channel, ChannelState> channels;

 private:
  std::map<std::uint64_t, std::vector<std::unique_ptr<Circle>>> splits_;
};

}  // namespace strobe::sim
