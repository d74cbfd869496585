#include "harness/full_batch/exchange/placed_samples.hpp"

#include <algorithm>
#include <set>

#include "harness/placement/local_rows.hpp"

namespace strobe {
namespace {

class SamplePlacer {
 public:
  SamplePlacer(const Samples& samples, const Placement& placement, const std::vector<Step>& steps)
      : samples_(samples), placement_(placement), arity_(static_cast<std::size_t>(samples.arity)), rows_(placement) {
    for (std::size_t i = 0; i < samples.step.size(); ++i) {
      const auto here = std::lower_bound(steps.begin(), steps.end(), samples.step[i]);
      if (here == steps.end() || *here != samples.step[i]) continue;
      chosen_.push_back({i, static_cast<Step>(here - steps.begin())});
    }
  }

  PlacedSamples place(const ListScope& scope) {
    collect_needs();
    PlacedSamples placed;
    placed.halo = halo(placement_, needs_, scope);
    placed.ranks.resize(placement_.ranks);
    for (Rank r = 0; r < placement_.ranks; ++r) {
      const bool needs_some = !needs_.vertices[r].empty();
      halo_rows_.push_back(needs_some ? halo_offsets(needs_, r) : std::vector<std::int64_t>());
      placed.ranks[r].rows.resize(arity_ + samples_.coded());
    }
    reserve(placed.ranks);
    for (const Chosen& sample : chosen_) {
      add(sample, placed.ranks[home(sample)]);
      placed.total_weight += samples_.weight.empty() ? 1.0 : samples_.weight[sample.index];
    }
    placed.complete();
    return placed;
  }

 private:
  struct Chosen {
    std::size_t index = 0;
    Step step = 0;
  };

  VertexId vertex(const Chosen& sample, std::size_t k) const { return samples_.vertices[sample.index * arity_ + k]; }
  Rank home(const Chosen& sample) const { return placement_.owner(vertex(sample, 0), sample.step); }

  /// Lists that grow would keep up to twice their size.
  void reserve(std::vector<LocalSamples>& ranks) const {
    std::vector<std::size_t> count(ranks.size(), 0);
    for (const Chosen& sample : chosen_) ++count[home(sample)];
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      for (auto& list : ranks[r].rows) list.reserve(count[r]);
      ranks[r].index.reserve(count[r]), ranks[r].label.reserve(count[r]);
      if (!samples_.value.empty()) ranks[r].value.reserve(count[r]);
      if (!samples_.weight.empty()) ranks[r].weight.reserve(count[r]);
    }
  }

  void add(const Chosen& sample, LocalSamples& local) {
    const std::size_t i = sample.index;
    for (std::size_t k = 0; k < arity_; ++k) local.rows[k].push_back(row(home(sample), vertex(sample, k), sample.step));
    const std::size_t coded = samples_.coded();
    for (std::size_t k = 0; k < coded; ++k) local.rows[arity_ + k].push_back(samples_.codes[i * coded + k]);
    local.index.push_back(static_cast<std::int64_t>(i));
    local.label.push_back(samples_.label[i]);
    if (!samples_.value.empty()) local.value.push_back(samples_.value[i]);
    if (!samples_.weight.empty()) local.weight.push_back(samples_.weight[i]);
  }

  void collect_needs() {
    needs_ = no_needs(placement_.ranks, placement_.steps());
    for (const Chosen& sample : chosen_) {
      const Rank rank = home(sample);
      for (std::size_t k = 1; k < arity_; ++k) {
        if (placement_.owner(vertex(sample, k), sample.step) == rank) continue;
        needs_.at(rank, sample.step).push_back(vertex(sample, k));
      }
    }
    for (auto& rank : needs_.vertices) {
      for (auto& step : rank) {
        std::sort(step.begin(), step.end());
        step.erase(std::unique(step.begin(), step.end()), step.end());
      }
    }
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
  std::size_t arity_;
  std::vector<Chosen> chosen_;
  HaloNeeds needs_;
  LocalRows rows_;
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
  return SamplePlacer(samples, placement, steps).place(scope);
}

std::vector<Step> steps_of(const Samples& samples) {
  const std::set<Step> steps(samples.step.begin(), samples.step.end());
  return {steps.begin(), steps.end()};
}

}  // namespace strobe
