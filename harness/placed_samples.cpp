#include "harness/placed_samples.hpp"

#include <algorithm>

namespace strobe {
namespace {

class SamplePlacer {
 public:
  SamplePlacer(const Samples& samples, const Placement& placement)
      : samples_(samples), placement_(placement), arity_(static_cast<std::size_t>(samples.arity)) {}

  PlacedSamples place(const ListScope& scope) {
    collect_needs();
    PlacedSamples placed;
    placed.total_weight = samples_.total_weight();
    placed.halo = halo(placement_, needs_, scope);
    placed.ranks.resize(static_cast<std::size_t>(placement_.ranks));
    for (Rank r = 0; r < placement_.ranks; ++r) {
      rows_.push_back(placement_.row_offsets(r));
      halo_rows_.push_back(halo_offsets(needs_, r));
      placed.ranks[static_cast<std::size_t>(r)].rows.resize(arity_);
    }
    for (const auto& map : placement_.maps) positions_.push_back(positions_in_owner(*map, placement_.vertices));
    for (std::size_t i = 0; i < samples_.step.size(); ++i) {
      LocalSamples& local = placed.ranks[static_cast<std::size_t>(home(i))];
      for (std::size_t k = 0; k < arity_; ++k) local.rows[k].push_back(row(home(i), vertex(i, k), samples_.step[i]));
      local.index.push_back(static_cast<std::int64_t>(i));
      local.label.push_back(samples_.label[i]);
      if (!samples_.value.empty()) local.value.push_back(samples_.value[i]);
      if (!samples_.weight.empty()) local.weight.push_back(samples_.weight[i]);
    }
    return placed;
  }

 private:
  VertexId vertex(std::size_t sample, std::size_t k) const { return samples_.vertices[sample * arity_ + k]; }
  Rank home(std::size_t sample) const { return placement_.owner(vertex(sample, 0), samples_.step[sample]); }

  void collect_needs() {
    needs_.vertices.assign(static_cast<std::size_t>(placement_.ranks),
                           std::vector<std::vector<VertexId>>(static_cast<std::size_t>(placement_.steps())));
    for (std::size_t i = 0; i < samples_.step.size(); ++i) {
      for (std::size_t k = 1; k < arity_; ++k) {
        if (placement_.owner(vertex(i, k), samples_.step[i]) == home(i)) continue;
        needs_.vertices[static_cast<std::size_t>(home(i))][static_cast<std::size_t>(samples_.step[i])].push_back(
            vertex(i, k));
      }
    }
    for (auto& rank : needs_.vertices) {
      for (auto& step : rank) {
        std::sort(step.begin(), step.end());
        step.erase(std::unique(step.begin(), step.end()), step.end());
      }
    }
  }

  /// Row of cell (v, t) in `rank`'s own rows or, behind them, its halo rows.
  std::int64_t row(Rank rank, VertexId v, Step t) const {
    const auto r = static_cast<std::size_t>(rank), step = static_cast<std::size_t>(t);
    if (placement_.owner(v, t) == rank) {
      return rows_[r][step] +
             positions_[static_cast<std::size_t>(placement_.map_of_step[step])][static_cast<std::size_t>(v)];
    }
    const std::vector<VertexId>& needed = needs_.vertices[r][step];
    return rows_[r].back() + halo_rows_[r][step] + (std::lower_bound(needed.begin(), needed.end(), v) - needed.begin());
  }

  const Samples& samples_;
  const Placement& placement_;
  std::size_t arity_;
  HaloNeeds needs_;
  std::vector<std::vector<std::int64_t>> rows_, halo_rows_, positions_;
};

}  // namespace

PlacedSamples place_samples(const Samples& samples, const Placement& placement, const ListScope& scope) {
  return SamplePlacer(samples, placement).place(scope);
}

}  // namespace strobe
