#include "harness/full_batch/exchange/exchange_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/counted_halo.hpp"
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
  LocalRows rows(placement);
  for (Rank r = 0; r < placement.ranks; ++r) {
    std::int64_t row = own[r];
    builder.move(r, r, 0, 0, row);
    const auto& needed = needs.vertices[r];
    for (std::size_t t = 0; t < needed.size(); ++t) {
      const auto step = static_cast<Step>(t);
      for (const VertexId v : needed[t]) builder.move(placement.owner(v, step), r, rows.row(v, step), row++, 1);
    }
    builder.rows(r, own[r], row);
  }
  return through_servers(builder.finish(true), scope);
}

HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step) {
  if (!graph.has_structure()) return counted_needs(placement, graph, first_step);
  HaloNeeds needs = no_needs(placement.ranks, placement.steps());
  std::vector<std::int64_t> seen(graph.vertices, -1);
  for (Step t = 0; t < placement.steps(); ++t) {
    const VertexMap& map = placement.map(t);
    if (map.single >= 0) continue;
    for (Rank r = 0; r < placement.ranks; ++r) {
      std::vector<VertexId> needed;
      const std::int64_t stamp = static_cast<std::int64_t>(t) * placement.ranks + r;
      for (const Run& run : map.runs_of(r)) {
        const std::size_t row = (first_step + t) * graph.vertices + run.first;
        for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + static_cast<std::size_t>(run.count)];
             ++e) {
          const std::size_t u = graph.columns[e];
          if (map.owner[u] == r || seen[u] == stamp) continue;
          seen[u] = stamp;
          needed.push_back(static_cast<VertexId>(u));
        }
      }
      if (needed.empty()) continue;
      // By owner first, so that the rows that a peer sends for a step arrive as one run.
      std::sort(needed.begin(), needed.end(), [&map](VertexId u, VertexId v) {
        return std::pair(map.owner_of(u), u) < std::pair(map.owner_of(v), v);
      });
      needs.at(r, t) = std::move(needed);
    }
  }
  return needs;
}

}  // namespace strobe
