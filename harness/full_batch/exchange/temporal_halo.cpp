// Finds the cells of earlier steps that ranks read and do not own. A vertex's sequence is walked from its end to its
// beginning. For each rank met on the way, the step of its next read is kept. A rank needs a cell if its next reading
// step is near enough.
#include <algorithm>
#include <utility>

#include "harness/full_batch/exchange/needed_rows.hpp"

namespace strobe {
namespace {

/// Ranks that own later cells of the current sequence, each with its next step.
class LaterReaders {
 public:
  void clear() { readers_.clear(); }
  void set(Rank rank, Step step) {
    for (auto& [known, next] : readers_) {
      if (known == rank) {
        next = step;
        return;
      }
    }
    readers_.emplace_back(rank, step);
  }
  template <class Visit>
  void others(Rank owner, const Visit& visit) const {
    for (const auto& [rank, next] : readers_) {
      if (rank != owner) visit(rank, next);
    }
  }

 private:
  std::vector<std::pair<Rank, Step>> readers_;
};

}  // namespace

HaloNeeds temporal_needs(const Placement& placement, std::int64_t window, Step first_reader) {
  return temporal_needs(placement, window, first_reader, NeedScope());
}

HaloNeeds temporal_needs(const Placement& placement, std::int64_t window, Step first_reader, const NeedScope& scope) {
  PairSums sums(placement.ranks);
  HaloNeeds needs = no_needs(placement.ranks, placement.steps());
  if (placement.keeps_timelines()) return needs;
  LaterReaders later;
  for (VertexId v = 0; v < placement.vertices; ++v) {
    later.clear();
    for (Step t = static_cast<Step>(placement.steps()) - 1; t >= 0; --t) {
      const Rank owner = placement.owner(v, t);
      if (owner < 0) {
        later.clear();
        continue;
      }
      later.others(owner, [&](Rank rank, Step next) {
        if ((window > 0 && next - t >= window) || !scope.reads(rank)) return;
        if (scope.lists(owner, rank))
          needs.at(rank, t).push_back(v);
        else
          sums.add(owner, rank);
      });
      if (t >= first_reader) later.set(owner, t);
    }
  }
  for (auto& rank : needs.vertices) {
    for (Step t = 0; t < static_cast<Step>(rank.size()); ++t) {
      const VertexMap& map = placement.map(t);
      std::sort(rank[t].begin(), rank[t].end(), [&map](VertexId u, VertexId v) {
        return std::pair(map.owner_of(u), u) < std::pair(map.owner_of(v), v);
      });
    }
  }
  needs.beyond = sums.pairs();
  return needs;
}

}  // namespace strobe
