// Builds exchange plans by walking the moved cells once, in (step, vertex) order: the order in which sender and
// receiver agree without exchanging index lists. Consecutive cells become one move.
#include "harness/exchange_plan.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {

void append_move(std::vector<RowMove>& moves, std::int64_t from, std::int64_t to, std::int64_t rows) {
  if (rows == 0) return;
  if (!moves.empty() && moves.back().from + moves.back().rows == from && moves.back().to + moves.back().rows == to) {
    moves.back().rows += rows;
  } else {
    moves.push_back({from, to, rows});
  }
}

std::int64_t ExchangePlan::total_rows() const {
  std::int64_t total = 0;
  for (const RankExchange& rank : ranks) total += rank.send_total;
  return total;
}

namespace {

/// What has been emitted so far between one pair of ranks.
struct Pair {
  std::int64_t rows = 0;
  std::int64_t send_moves = 0, receive_moves = 0;
  std::int64_t from_first = 0, from_end = -1, to_first = 0, to_end = -1;
  std::vector<Run> from_runs, to_runs;  // kept for ranks in scope only
};

void append_run(std::vector<Run>& runs, std::int64_t first, std::int64_t count) {
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

class PlanBuilder {
 public:
  PlanBuilder(int ranks, const ListScope& scope)
      : ranks_(static_cast<std::size_t>(ranks)), scope_(scope), pairs_(ranks_ * ranks_), plan_() {
    plan_.ranks.resize(ranks_);
  }

  void rows(Rank rank, std::int64_t input, std::int64_t output) {
    at(rank).input_rows = input;
    at(rank).output_rows = output;
  }

  /// Rank r's input rows [from, from + count) become rank q's output rows from `to`.
  void move(Rank r, Rank q, std::int64_t from, std::int64_t to, std::int64_t count) {
    if (count == 0) return;
    if (r == q) {
      keep(r, from, to, count);
      return;
    }
    Pair& p = pairs_[static_cast<std::size_t>(r) * ranks_ + static_cast<std::size_t>(q)];
    if (p.rows == 0) {
      p.from_first = from;
      p.to_first = to;
    }
    p.send_moves += p.from_end == from ? 0 : 1;
    p.receive_moves += p.to_end == to ? 0 : 1;
    p.from_end = from + count;
    p.to_end = to + count;
    p.rows += count;
    if (scope_.covers(r)) append_run(p.from_runs, from, count);
    if (scope_.covers(q)) append_run(p.to_runs, to, count);
  }

  ExchangePlan finish(bool fan_out) {
    plan_.fan_out = fan_out;
    plan_.identity = true;
    for (std::size_t r = 0; r < ranks_; ++r) finish_rank(r);
    for (const RankExchange& rank : plan_.ranks) {
      const bool keeps_all = rank.kept_rows == rank.input_rows && rank.input_rows == rank.output_rows;
      if (rank.send_total != 0 || rank.receive_total != 0 || !keeps_all || rank.keep_moves > 1) plan_.identity = false;
    }
    return std::move(plan_);
  }

 private:
  RankExchange& at(Rank rank) { return plan_.ranks[static_cast<std::size_t>(rank)]; }

  void keep(Rank r, std::int64_t from, std::int64_t to, std::int64_t count) {
    RankExchange& rank = at(r);
    rank.kept_rows += count;
    const bool continues = rank.keep_moves > 0 && keep_end_[r].first == from && keep_end_[r].second == to;
    rank.keep_moves += continues ? 0 : 1;
    keep_end_[r] = {from + count, to + count};
    if (scope_.covers(r)) append_move(rank.keep, from, to, count);
  }

  void finish_rank(std::size_t r) {
    RankExchange& rank = plan_.ranks[r];
    for (std::size_t q = 0; q < ranks_; ++q) {
      const Pair& sent = pairs_[r * ranks_ + q];
      const Pair& received = pairs_[q * ranks_ + r];
      rank.send_count.push_back(sent.rows);
      rank.receive_count.push_back(received.rows);
      rank.send_in_place = rank.send_in_place && sent.send_moves <= 1;
      rank.receive_in_place = rank.receive_in_place && received.receive_moves <= 1;
      rank.pack_moves += sent.send_moves;
      rank.unpack_moves += received.receive_moves;
    }
    for (std::size_t q = 0; q < ranks_; ++q) {
      const Pair& sent = pairs_[r * ranks_ + q];
      const Pair& received = pairs_[q * ranks_ + r];
      rank.send_first.push_back(rank.send_in_place ? sent.from_first : rank.send_total);
      rank.receive_first.push_back(rank.receive_in_place ? received.to_first : rank.receive_total);
      std::int64_t buffer = rank.send_total;
      // Runs of different peers stay apart even where they touch, so that counts with and without lists agree.
      for (const Run& run : sent.from_runs) {
        rank.pack.push_back({run.first, buffer, run.count});
        buffer += run.count;
      }
      buffer = rank.receive_total;
      for (const Run& run : received.to_runs) {
        rank.unpack.push_back({buffer, run.first, run.count});
        buffer += run.count;
      }
      rank.send_total += sent.rows;
      rank.receive_total += received.rows;
    }
  }

  std::size_t ranks_;
  ListScope scope_;
  std::vector<Pair> pairs_;
  ExchangePlan plan_;
  std::vector<std::pair<std::int64_t, std::int64_t>> keep_end_ =
      std::vector<std::pair<std::int64_t, std::int64_t>>(ranks_, {-1, -1});
};

std::vector<std::vector<std::int64_t>> all_row_offsets(const Placement& placement) {
  std::vector<std::vector<std::int64_t>> offsets;
  for (Rank rank = 0; rank < placement.ranks; ++rank) offsets.push_back(placement.row_offsets(rank));
  return offsets;
}

/// Calls visit(r, q, position in r's step, position in q's step, count) for all cells of a step whose maps are a and b.
template <class Visit>
void intersect(const VertexMap& a, const VertexMap& b, std::int64_t vertices, const Visit& visit) {
  if (a.single >= 0 && b.single >= 0) {
    visit(a.single, b.single, std::int64_t{0}, std::int64_t{0}, vertices);
    return;
  }
  if (a.single >= 0 || b.single >= 0) {
    const VertexMap& spread = a.single >= 0 ? b : a;
    for (std::size_t q = 0; q < spread.owned.size(); ++q) {
      std::int64_t position = 0;
      for (const Run& run : spread.owned[q]) {
        if (a.single >= 0) {
          visit(a.single, static_cast<Rank>(q), run.first, position, run.count);
        } else {
          visit(static_cast<Rank>(q), b.single, position, run.first, run.count);
        }
        position += run.count;
      }
    }
    return;
  }
  std::vector<std::int64_t> next_a(a.owned.size(), 0), next_b(b.owned.size(), 0);
  for (std::size_t v = 0; v < a.owner.size(); ++v) {
    const auto r = static_cast<std::size_t>(a.owner[v]), q = static_cast<std::size_t>(b.owner[v]);
    visit(a.owner[v], b.owner[v], next_a[r]++, next_b[q]++, std::int64_t{1});
  }
}

void check_same_cells(const Placement& from, const Placement& to) {
  if (from.ranks != to.ranks || from.vertices != to.vertices || from.steps() != to.steps()) {
    throw Error("redistribute: the placements are of different graphs or rank counts");
  }
}

}  // namespace

ExchangePlan redistribute(const Placement& from, const Placement& to, const ListScope& scope) {
  check_same_cells(from, to);
  PlanBuilder builder(from.ranks, scope);
  const auto from_rows = all_row_offsets(from), to_rows = all_row_offsets(to);
  for (std::size_t r = 0; r < from_rows.size(); ++r) {
    builder.rows(static_cast<Rank>(r), from_rows[r].back(), to_rows[r].back());
  }
  for (Step t = 0; t < from.steps(); ++t) {
    const auto step = static_cast<std::size_t>(t);
    intersect(from.map(t), to.map(t), from.vertices,
              [&](Rank r, Rank q, std::int64_t position_r, std::int64_t position_q, std::int64_t count) {
                builder.move(r, q, from_rows[static_cast<std::size_t>(r)][step] + position_r,
                             to_rows[static_cast<std::size_t>(q)][step] + position_q, count);
              });
  }
  return builder.finish(false);
}

std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank) {
  std::vector<std::int64_t> offsets = {0};
  for (const auto& step : needs.vertices[static_cast<std::size_t>(rank)]) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(step.size()));
  }
  return offsets;
}

ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope) {
  PlanBuilder builder(placement.ranks, scope);
  const auto rows = all_row_offsets(placement);
  std::vector<std::vector<std::int64_t>> positions;
  for (const auto& map : placement.maps) positions.push_back(positions_in_owner(*map, placement.vertices));
  for (Rank r = 0; r < placement.ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const std::vector<std::int64_t> offsets = halo_offsets(needs, r);
    builder.rows(r, rows[rank].back(), rows[rank].back() + offsets.back());
    builder.move(r, r, 0, 0, rows[rank].back());
    for (std::size_t t = 0; t < needs.vertices[rank].size(); ++t) {
      const VertexMap& map = placement.map(static_cast<Step>(t));
      const auto& position = positions[static_cast<std::size_t>(placement.map_of_step[t])];
      std::int64_t row = rows[rank].back() + offsets[t];
      for (const VertexId v : needs.vertices[rank][t]) {
        const Rank owner = map.owner_of(v);
        builder.move(owner, r, rows[static_cast<std::size_t>(owner)][t] + position[static_cast<std::size_t>(v)], row++,
                     1);
      }
    }
  }
  return builder.finish(true);
}

HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph) {
  HaloNeeds needs;
  const auto steps = static_cast<std::size_t>(placement.steps());
  needs.vertices.assign(static_cast<std::size_t>(placement.ranks), std::vector<std::vector<VertexId>>(steps));
  std::vector<std::int64_t> seen(static_cast<std::size_t>(graph.vertices), -1);
  for (std::size_t t = 0; t < steps; ++t) {
    const VertexMap& map = placement.map(static_cast<Step>(t));
    if (map.single >= 0) continue;
    for (Rank r = 0; r < placement.ranks; ++r) {
      std::vector<VertexId>& needed = needs.vertices[static_cast<std::size_t>(r)][t];
      const std::int64_t stamp = static_cast<std::int64_t>(t) * placement.ranks + r;
      for (const Run& run : map.owned[static_cast<std::size_t>(r)]) {
        const auto row = static_cast<std::size_t>(static_cast<std::int64_t>(t) * graph.vertices + run.first);
        for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + static_cast<std::size_t>(run.count)];
             ++e) {
          const auto u = static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(e)]);
          if (map.owner[u] == r || seen[u] == stamp) continue;
          seen[u] = stamp;
          needed.push_back(static_cast<VertexId>(u));
        }
      }
      std::sort(needed.begin(), needed.end());
    }
  }
  return needs;
}

}  // namespace strobe
