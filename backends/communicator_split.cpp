// Splits a communicator and returns the communicator of the caller's group. Invariant: no backend makes anything before
// all ranks have met and agree about the groups, so no rank waits there for one that does not come. Cost: one barrier,
// O(ranks in groups) on each rank.
#include <fmt/format.h>

#include <algorithm>

#include "backends/agreement.hpp"

namespace strobe {
namespace {

void check_groups(const RankGroups& groups, int size) {
  std::vector<bool> taken(size, false);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) throw Error(fmt::format("split: group {} is empty", g));
    int before = -1;
    for (const int rank : groups[g]) {
      if (rank < 0 || rank >= size) throw Error(fmt::format("split: group {} has rank {} of {} ranks", g, rank, size));
      if (rank <= before) throw Error(fmt::format("split: the ranks of group {} do not ascend", g));
      if (taken[rank]) throw Error(fmt::format("split: rank {} is in two groups", rank));
      taken[rank] = true;
      before = rank;
    }
  }
}

}  // namespace

Communicator::Communicator(Device& device, int rank, MemberRanks members, double timeout_seconds)
    : device_(device),
      rank_(rank),
      size_(static_cast<int>(members->size())),
      timeout_seconds_(timeout_seconds),
      members_(std::move(members)) {}

MemberRanks Communicator::members_of(const std::vector<int>& group) const {
  std::vector<int> ranks;
  for (const int rank : group) ranks.push_back(world_rank(rank));
  return std::make_shared<const std::vector<int>>(std::move(ranks));
}

std::unique_ptr<Communicator> Communicator::split(const RankGroups& groups) {
  check_groups(groups, size_);
  Collective meeting;
  meeting.groups = fingerprint(groups);
  Request request = start(std::move(meeting));
  wait(request);
  OwnGroup own;
  own.split = splits_++;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto place = std::lower_bound(groups[g].begin(), groups[g].end(), rank_);
    if (place == groups[g].end() || *place != rank_) continue;
    own.index = g;
    own.rank = static_cast<int>(place - groups[g].begin());
  }
  return do_split(groups, own);
}

std::unique_ptr<Communicator> Communicator::do_split(const RankGroups&, const OwnGroup&) {
  throw Unavailable("this communicator makes no groups");
}

}  // namespace strobe
