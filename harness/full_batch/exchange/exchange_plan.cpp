#include "harness/full_batch/exchange/exchange_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/counted_halo.hpp"
#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/placement/local_rows.hpp"

namespace strobe {

void append_move(std::vector<RowMove>& moves, std::int64_t from, std::int64_t to, std::int64_t rows) {
  if (rows == 0) return;
  if (!moves.empty() && moves.back().from + moves.back().rows == from && moves.back().to + moves.back().rows == to) {
    moves.back().rows += rows;
  } else {
    moves.push_back({from, to, rows});
  }
}

bool RankExchange::keeps_all() const {
  return send.total == 0 && receive.total == 0 && kept_rows == input_rows && input_rows == output_rows &&
         keep_moves <= 1;
}

const RankExchange& ExchangePlan::of(Rank r) const {
  static const RankExchange nothing;
  if (!ranks.empty() && static_cast<int>(ranks.size()) == rank_count) return ranks[r];
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), r,
                                   [](const RankExchange& rank, Rank wanted) { return rank.rank < wanted; });
  return at != ranks.end() && at->rank == r ? *at : nothing;
}

void ExchangePlan::complete() {
  total_rows_ = 0;
  for (const RankExchange& rank : ranks) total_rows_ += rank.send.total;
  identity = std::all_of(ranks.begin(), ranks.end(), [](const RankExchange& rank) { return rank.keeps_all(); });
}

const std::vector<VertexId>& HaloNeeds::of(Rank rank, Step t) const {
  static const std::vector<VertexId> none;
  const auto& own = vertices[rank];
  return own.empty() ? none : own[t];
}

std::vector<VertexId>& HaloNeeds::at(Rank rank, Step t) {
  auto& own = vertices[rank];
  if (own.empty()) own.resize(steps);
  return own[t];
}

std::int64_t& HaloNeeds::count_at(Rank rank, Step t) {
  auto& own = counted[rank];
  if (own.empty()) own.resize(steps, 0);
  return own[t];
}

HaloNeeds no_needs(int ranks, std::int64_t steps, bool by_count) {
  HaloNeeds needs;
  needs.steps = steps;
  if (by_count) {
    needs.counted.resize(ranks);
  } else {
    needs.vertices.resize(ranks);
  }
  return needs;
}

std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank) {
  const std::size_t r = rank;
  std::vector<std::int64_t> offsets = {0};
  if (!needs.counted.empty()) {
    for (const std::int64_t rows : needs.counted[r]) offsets.push_back(offsets.back() + rows);
  } else {
    for (const auto& step : needs.vertices[r])
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(step.size()));
  }
  if (offsets.size() == 1) offsets.resize(static_cast<std::size_t>(needs.steps) + 1, 0);
  return offsets;
}

ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope) {
  if (!needs.counted.empty()) return counted_halo(placement, needs);
  PlanBuilder builder(placement.ranks, scope_of_routed(scope));
  const std::vector<std::int64_t> own = rows_of_ranks(placement);
  std::vector<std::int64_t> end = own;
  LocalRows rows = scope.others_as_sums ? LocalRows(placement, scope.rank) : LocalRows(placement);
  for (Rank r = 0; r < placement.ranks; ++r) {
    std::int64_t& row = end[r];
    builder.move(r, r, 0, 0, row);
    const auto& needed = needs.vertices[r];
    for (std::size_t t = 0; t < needed.size(); ++t) {
      const auto step = static_cast<Step>(t);
      for (const VertexId v : needed[t]) builder.move(placement.owner(v, step), r, rows.row(v, step), row++, 1);
    }
  }
  for (const PairRows& pair : needs.beyond) {
    builder.count(pair);
    end[pair.reader] += pair.rows;
  }
  for (Rank r = 0; r < placement.ranks; ++r) builder.rows(r, own[r], end[r]);
  return through_servers(builder.finish(true), scope);
}

namespace {

/// Walks the rows of one step after the other, and collects what their ranks read of others.
class SpatialNeeds {
 public:
  SpatialNeeds(const Placement& placement, const PreparedGraph& graph, const NeedScope& scope)
      : placement_(placement),
        graph_(graph),
        scope_(scope),
        seen_(static_cast<std::size_t>(graph.vertices), 0),
        sums_(placement.ranks),
        needs_(no_needs(placement.ranks, placement.steps())) {}

  HaloNeeds of_steps(std::int64_t first_step) {
    for (Step t = 0; t < placement_.steps(); ++t) {
      if (placement_.map(t).single >= 0) continue;
      for (Rank r = 0; r < placement_.ranks; ++r)
        if (scope_.reads(r)) add(r, t, static_cast<std::size_t>((first_step + t) * graph_.vertices));
    }
    needs_.beyond = sums_.pairs();
    return std::move(needs_);
  }

 private:
  void add(Rank r, Step t, std::size_t first_row) {
    const VertexMap& map = placement_.map(t);
    std::vector<VertexId> needed;
    begin_reader();
    const auto add_rows = [&](const Run& run) { add_read(r, map, first_row, run, needed); };
    if (!map.runs_of(r).empty()) {
      for (const Run& run : map.runs_of(r)) add_rows(run);
    } else if (map.count_of(r) > 0) {  // runs of others are not listed
      sort_by_owner(t, map);
      const auto first = by_owner_.begin() + (r == 0 ? 0 : end_of_owner_[static_cast<std::size_t>(r) - 1]);
      for (auto v = first; v != by_owner_.begin() + end_of_owner_[r]; ++v) add_rows({*v, 1});
    }
    if (needed.empty()) return;
    // By owner first, so that the rows that a peer sends for a step arrive as one run.
    std::sort(needed.begin(), needed.end(),
              [&map](VertexId u, VertexId v) { return std::pair(map.owner_of(u), u) < std::pair(map.owner_of(v), v); });
    needed.shrink_to_fit();
    needs_.at(r, t) = std::move(needed);
  }

  /// Sorts the vertices of step t by owner, once. Vertices of one owner ascend.
  void sort_by_owner(Step t, const VertexMap& map) {
    if (sorted_ == t) return;
    sorted_ = t;
    end_of_owner_.assign(static_cast<std::size_t>(placement_.ranks), 0);
    for (Rank r = 1; r < placement_.ranks; ++r) end_of_owner_[r] = end_of_owner_[r - 1] + map.count_of(r - 1);
    by_owner_.resize(map.owner.size());
    for (std::size_t v = 0; v < map.owner.size(); ++v)
      if (map.owner[v] >= 0) by_owner_[end_of_owner_[map.owner[v]]++] = static_cast<VertexId>(v);
  }

  /// Adds what rank r reads in the rows of a run of its vertices.
  void add_read(Rank r, const VertexMap& map, std::size_t first_row, const Run& run, std::vector<VertexId>& needed) {
    const std::size_t row = first_row + static_cast<std::size_t>(run.first);
    const std::int64_t end = graph_.row_offsets[row + static_cast<std::size_t>(run.count)];
    for (std::int64_t e = graph_.row_offsets[row]; e < end; ++e) {
      const std::size_t u = graph_.columns[e];
      const Rank owner = map.owner[u];
      if (owner == r || seen_[u] == stamp_) continue;
      seen_[u] = stamp_;
      if (scope_.lists(owner, r))
        needed.push_back(static_cast<VertexId>(u));
      else
        sums_.add(owner, r);
    }
  }

  void begin_reader() {
    if (++stamp_ > 0) return;
    std::fill(seen_.begin(), seen_.end(), 0);
    stamp_ = 1;
  }

  const Placement& placement_;
  const PreparedGraph& graph_;
  const NeedScope scope_;
  std::vector<std::uint32_t> seen_;  // [N] the last reader and step that met a vertex
  std::uint32_t stamp_ = 0;
  Step sorted_ = -1;
  std::vector<VertexId> by_owner_;          // [N] of step `sorted_`; used where the runs of other ranks are not listed
  std::vector<std::int64_t> end_of_owner_;  // [P] where the owner's vertices end in by_owner_
  PairSums sums_;
  HaloNeeds needs_;
};

}  // namespace

HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step,
                        const NeedScope& scope) {
  if (!graph.has_structure()) return counted_needs(placement, graph, first_step);
  return SpatialNeeds(placement, graph, scope).of_steps(first_step);
}

HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step) {
  return spatial_needs(placement, graph, first_step, NeedScope());
}

}  // namespace strobe
