#include "harness/full_batch/exchange/placed_samples.hpp"

#include <algorithm>
#include <compare>
#include <set>

#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/placement/local_rows.hpp"

namespace strobe {
namespace {

/// A cell that a rank reads for its samples.
struct ReadCell {
  Step step = 0;
  Rank reader = 0;
  VertexId vertex = 0;
  friend auto operator<=>(const ReadCell&, const ReadCell&) = default;
};

class SamplePlacer {
 public:
  SamplePlacer(const Samples& samples, const Placement& placement, const std::vector<Step>& steps,
               const ListScope& scope)
      : samples_(samples),
        placement_(placement),
        steps_(steps),
        scope_(scope),
        needed_(scope),
        arity_(static_cast<std::size_t>(samples.arity)),
        rows_(scope.others_as_sums ? LocalRows(placement, scope.rank) : LocalRows(placement)),
        sums_(placement.ranks) {}

  PlacedSamples place() {
    collect_needs();
    PlacedSamples placed;
    placed.halo = halo(placement_, needs_, scope_);
    placed.ranks.resize(placement_.ranks);
    halo_rows_.resize(placement_.ranks);
    for (Rank r = 0; r < placement_.ranks; ++r) {
      if (!needed_.is_own(r)) continue;
      if (!needs_.vertices[r].empty()) halo_rows_[r] = halo_offsets(needs_, r);
      placed.ranks[r].rows.resize(arity_ + samples_.coded());
    }
    reserve(placed.ranks);
    for_chosen([&](std::size_t i, Step step) {
      const Rank rank = home(i, step);
      if (needed_.is_own(rank)) add(i, step, placed.ranks[rank]);
      placed.total_weight += samples_.weight.empty() ? 1.0 : samples_.weight[i];
    });
    placed.complete();
    return placed;
  }

 private:
  /// visit(sample, its step's place among `steps`) of each sample that reads one of them.
  template <class Visit>
  void for_chosen(const Visit& visit) const {
    for_samples_of(samples_, steps_, visit);
  }
  VertexId vertex(std::size_t sample, std::size_t k) const { return samples_.vertices[sample * arity_ + k]; }
  Rank home(std::size_t sample, Step step) const { return placement_.owner(vertex(sample, 0), step); }

  /// Lists that grow would keep up to twice their size.
  void reserve(std::vector<LocalSamples>& ranks) const {
    std::vector<std::size_t> count(ranks.size(), 0);
    for_chosen([&](std::size_t i, Step step) { ++count[home(i, step)]; });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!needed_.is_own(static_cast<Rank>(r))) {
        ranks[r].counted = static_cast<std::int64_t>(count[r]);
        continue;
      }
      for (auto& list : ranks[r].rows) list.reserve(count[r]);
      ranks[r].index.reserve(count[r]), ranks[r].label.reserve(count[r]);
      if (!samples_.value.empty()) ranks[r].value.reserve(count[r]);
      if (!samples_.weight.empty()) ranks[r].weight.reserve(count[r]);
    }
  }

  void add(std::size_t i, Step step, LocalSamples& local) {
    for (std::size_t k = 0; k < arity_; ++k) local.rows[k].push_back(row(home(i, step), vertex(i, k), step));
    const std::size_t coded = samples_.coded();
    for (std::size_t k = 0; k < coded; ++k) local.rows[arity_ + k].push_back(samples_.codes[i * coded + k]);
    local.index.push_back(static_cast<std::int64_t>(i));
    local.label.push_back(samples_.label[i]);
    if (!samples_.value.empty()) local.value.push_back(samples_.value[i]);
    if (!samples_.weight.empty()) local.weight.push_back(samples_.weight[i]);
  }

  void collect_needs() {
    needs_ = no_needs(placement_.ranks, placement_.steps());
    if (arity_ > 1) {
      const bool ascend = std::is_sorted(samples_.step.begin(), samples_.step.end());
      Step before = -1;
      for_chosen([&](std::size_t i, Step step) {
        if (ascend && step != before) count_beyond();
        before = step;
        add_needs(i, step);
      });
      count_beyond();
    }
    for (auto& rank : needs_.vertices) {
      for (auto& step : rank) {
        std::sort(step.begin(), step.end());
        step.erase(std::unique(step.begin(), step.end()), step.end());
      }
    }
    needs_.beyond = sums_.pairs();
  }
  void add_needs(std::size_t i, Step step) {
    const Rank rank = home(i, step);
    for (std::size_t k = 1; k < arity_; ++k) {
      const Rank owner = placement_.owner(vertex(i, k), step);
      if (owner == rank) continue;
      if (needed_.lists(owner, rank))
        needs_.at(rank, step).push_back(vertex(i, k));
      else
        beyond_.push_back({step, rank, vertex(i, k)});
    }
  }
  /// Counts the cells of `beyond_`, each once.
  void count_beyond() {
    std::sort(beyond_.begin(), beyond_.end());
    const auto end = std::unique(beyond_.begin(), beyond_.end());
    for (auto cell = beyond_.begin(); cell != end; ++cell)
      sums_.add(placement_.owner(cell->vertex, cell->step), cell->reader);
    beyond_.clear();
  }

  /// Row of cell (v, t) in `rank`'s own rows, which its halo rows follow.
  std::int64_t row(Rank rank, VertexId v, Step t) {
    if (placement_.owner(v, t) == rank) return rows_.row(v, t);
    const std::vector<VertexId>& needed = needs_.of(rank, t);
    return rows_.of_steps(rank).back() + halo_rows_[rank][t] +
           (std::lower_bound(needed.begin(), needed.end(), v) - needed.begin());
  }

  const Samples& samples_;
  const Placement& placement_;
  const std::vector<Step>& steps_;
  const ListScope scope_;
  const NeedScope needed_;
  std::size_t arity_;
  HaloNeeds needs_;
  LocalRows rows_;
  PairSums sums_;
  std::vector<ReadCell> beyond_;                      // that other ranks read of each other
  std::vector<std::vector<std::int64_t>> halo_rows_;  // [P]; empty for a rank that needs nothing
};

}  // namespace

void PlacedSamples::complete() {
  std::vector<PeerRows> rows;
  std::int64_t next = 0;
  for (const LocalSamples& rank : ranks) {
    rows.push_back({next, rank.count()});
    next += rank.count();
  }
  gathered = listed_peers(rows);
}

PlacedSamples place_samples(const Samples& samples, const Placement& placement, const std::vector<Step>& steps,
                            const ListScope& scope) {
  return SamplePlacer(samples, placement, steps, scope).place();
}

void for_samples_of(const Samples& samples, const std::vector<Step>& steps,
                    const std::function<void(std::size_t sample, Step place)>& visit) {
  if (steps.empty()) return;
  std::vector<Step> place(static_cast<std::size_t>(steps.back()) + 1, -1);
  for (std::size_t i = 0; i < steps.size(); ++i) place[steps[i]] = static_cast<Step>(i);
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    const auto step = static_cast<std::size_t>(samples.step[i]);
    if (step < place.size() && place[step] >= 0) visit(i, place[step]);
  }
}

std::vector<Step> steps_of(const Samples& samples) {
  const std::set<Step> steps(samples.step.begin(), samples.step.end());
  return {steps.begin(), steps.end()};
}

}  // namespace strobe
