// Builds exchange plans by walking the moved cells once, in (step, vertex) order: the order in which sender and
// receiver agree without exchanging index lists. Consecutive cells become one move.
#include "harness/exchange/exchange_plan.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "harness/exchange/counted_halo.hpp"

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

/// Ranks that are treated together where data lies by the other rank: one cache line of counts.
constexpr std::size_t ranks_at_once = 8;

/// What has been emitted so far between one pair of ranks.
struct Pair {
  std::int64_t rows = 0;
  std::int64_t send_moves = 0, receive_moves = 0;
  std::int64_t from_first = 0, from_end = -1, to_first = 0, to_end = -1;
};

/// The moves of one pair; kept for ranks in scope only.
struct PairRuns {
  std::vector<Run> from, to;
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
      : ranks_(static_cast<std::size_t>(ranks)), scope_(scope), nothing_(ranks_), sent_(ranks_), runs_(ranks_) {
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
    const auto sender = static_cast<std::size_t>(r), receiver = static_cast<std::size_t>(q);
    if (sent_[sender].empty()) sent_[sender].resize(ranks_);
    Pair& p = sent_[sender][receiver];
    if (p.rows == 0) {
      p.from_first = from;
      p.to_first = to;
    }
    p.send_moves += p.from_end == from ? 0 : 1;
    p.receive_moves += p.to_end == to ? 0 : 1;
    p.from_end = from + count;
    p.to_end = to + count;
    p.rows += count;
    if (!scope_.covers(r) && !scope_.covers(q)) return;
    if (runs_[sender].empty()) runs_[sender].resize(ranks_);
    if (scope_.covers(r)) append_run(runs_[sender][receiver].from, from, count);
    if (scope_.covers(q)) append_run(runs_[sender][receiver].to, to, count);
  }

  ExchangePlan finish(bool fan_out) {
    plan_.fan_out = fan_out;
    plan_.identity = true;
    for (std::size_t first = 0; first < ranks_; first += ranks_at_once) {
      const std::vector<std::vector<Pair>> received = received_by(first, std::min(ranks_, first + ranks_at_once));
      for (std::size_t i = 0; i < received.size(); ++i) finish_rank(first + i, received[i]);
    }
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

  /// What ranks [first, last) get from each sender: [last - first][P].
  std::vector<std::vector<Pair>> received_by(std::size_t first, std::size_t last) const {
    std::vector<std::vector<Pair>> received(last - first, std::vector<Pair>(ranks_));
    for (std::size_t q = 0; q < ranks_; ++q) {
      if (sent_[q].empty()) continue;
      for (std::size_t r = first; r < last; ++r) received[r - first][q] = sent_[q][r];
    }
    return received;
  }

  void count(RankExchange& rank, const std::vector<Pair>& sent, const std::vector<Pair>& received) const {
    rank.send_count.resize(ranks_);
    rank.receive_count.resize(ranks_);
    for (std::size_t q = 0; q < ranks_; ++q) {
      rank.send_count[q] = sent[q].rows;
      rank.receive_count[q] = received[q].rows;
      rank.send_in_place = rank.send_in_place && sent[q].send_moves <= 1;
      rank.receive_in_place = rank.receive_in_place && received[q].receive_moves <= 1;
      rank.pack_moves += sent[q].send_moves;
      rank.unpack_moves += received[q].receive_moves;
    }
  }

  void finish_rank(std::size_t r, const std::vector<Pair>& received) {
    const std::vector<Pair>& sent = sent_[r].empty() ? nothing_ : sent_[r];
    RankExchange& rank = plan_.ranks[r];
    count(rank, sent, received);
    rank.send_first.resize(ranks_);
    rank.receive_first.resize(ranks_);
    for (std::size_t q = 0; q < ranks_; ++q) {
      rank.send_first[q] = rank.send_in_place ? sent[q].from_first : rank.send_total;
      rank.receive_first[q] = rank.receive_in_place ? received[q].to_first : rank.receive_total;
      // Runs of different peers stay apart even where they touch, so that counts with and without lists agree.
      std::int64_t buffer = rank.send_total;
      if (!runs_[r].empty()) {
        for (const Run& run : runs_[r][q].from) {
          rank.pack.push_back({run.first, buffer, run.count});
          buffer += run.count;
        }
      }
      buffer = rank.receive_total;
      if (!runs_[q].empty()) {
        for (const Run& run : runs_[q][r].to) {
          rank.unpack.push_back({buffer, run.first, run.count});
          buffer += run.count;
        }
      }
      rank.send_total += sent[q].rows;
      rank.receive_total += received[q].rows;
    }
  }

  std::size_t ranks_;
  ListScope scope_;
  std::vector<Pair> nothing_;                // [P], of a rank that sends nothing
  std::vector<std::vector<Pair>> sent_;      // [P][P], a row empty as long as its rank sends nothing
  std::vector<std::vector<PairRuns>> runs_;  // likewise, and empty out of scope
  ExchangePlan plan_;
  std::vector<std::pair<std::int64_t, std::int64_t>> keep_end_ =
      std::vector<std::pair<std::int64_t, std::int64_t>>(ranks_, {-1, -1});
};

std::vector<std::vector<std::int64_t>> all_row_offsets(const Placement& placement) {
  const auto ranks = static_cast<std::size_t>(placement.ranks), steps = static_cast<std::size_t>(placement.steps());
  std::vector<std::vector<std::int64_t>> offsets(ranks, std::vector<std::int64_t>(steps + 1));
  for (std::size_t first = 0; first < ranks; first += ranks_at_once) {
    const std::size_t last = std::min(ranks, first + ranks_at_once);
    for (std::size_t t = 0; t < steps; ++t) {
      const std::vector<std::int64_t>& counts = placement.map(static_cast<Step>(t)).owned_count;
      for (std::size_t r = first; r < last; ++r) offsets[r][t + 1] = offsets[r][t] + counts[r];
    }
  }
  return offsets;
}

/// Consecutive vertices that one rank owns under one map and one rank under another: their positions there.
struct Segment {
  Rank from = 0, to = 0;
  std::int64_t from_position = 0, to_position = 0, count = 0;
};

/// The segments of a step whose maps are a and b, vertices ascending but for a map with a single owner: then by rank.
std::vector<Segment> intersect(const VertexMap& a, const VertexMap& b, std::int64_t vertices) {
  if (a.single >= 0 && b.single >= 0) return {{a.single, b.single, 0, 0, vertices}};
  std::vector<Segment> segments;
  if (a.single >= 0 || b.single >= 0) {
    const VertexMap& spread = a.single >= 0 ? b : a;
    for (std::size_t q = 0; q < spread.owned.size(); ++q) {
      std::int64_t position = 0;
      for (const Run& run : spread.owned[q]) {
        if (a.single >= 0) {
          segments.push_back({a.single, static_cast<Rank>(q), run.first, position, run.count});
        } else {
          segments.push_back({static_cast<Rank>(q), b.single, position, run.first, run.count});
        }
        position += run.count;
      }
    }
    return segments;
  }
  if (a.owner.empty() || b.owner.empty()) return {};  // nobody's
  std::vector<std::int64_t> next_a(a.owned.size(), 0), next_b(b.owned.size(), 0);
  for (std::size_t v = 0; v < a.owner.size();) {
    const Rank r = a.owner[v], q = b.owner[v];
    std::int64_t count = 1;
    while (++v < a.owner.size() && a.owner[v] == r && b.owner[v] == q) ++count;
    std::int64_t &from = next_a[static_cast<std::size_t>(r)], &to = next_b[static_cast<std::size_t>(q)];
    segments.push_back({r, q, from, to, count});
    from += count;
    to += count;
  }
  return segments;
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
  const bool same_maps = from.maps == to.maps && from.map_of_step == to.map_of_step;
  for (std::size_t r = 0; same_maps && r < from_rows.size(); ++r) {
    builder.move(static_cast<Rank>(r), static_cast<Rank>(r), 0, 0, from_rows[r].back());
  }
  std::pair<std::int32_t, std::int32_t> intersected{-1, -1};  // steps that follow each other often share their maps
  std::vector<Segment> segments;
  for (Step t = 0; !same_maps && t < from.steps(); ++t) {
    const auto step = static_cast<std::size_t>(t);
    const std::pair maps{from.map_of_step[step], to.map_of_step[step]};
    if (t == 0 || maps != intersected) segments = intersect(from.map(t), to.map(t), from.vertices);
    intersected = maps;
    for (const Segment& s : segments) {
      builder.move(s.from, s.to, from_rows[static_cast<std::size_t>(s.from)][step] + s.from_position,
                   to_rows[static_cast<std::size_t>(s.to)][step] + s.to_position, s.count);
    }
  }
  return builder.finish(false);
}

std::vector<std::int64_t> halo_offsets(const HaloNeeds& needs, Rank rank) {
  std::vector<std::int64_t> offsets = {0};
  if (!needs.counted.empty()) {
    for (const std::int64_t rows : needs.counted[static_cast<std::size_t>(rank)])
      offsets.push_back(offsets.back() + rows);
    return offsets;
  }
  for (const auto& step : needs.vertices[static_cast<std::size_t>(rank)]) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(step.size()));
  }
  return offsets;
}

ExchangePlan halo(const Placement& placement, const HaloNeeds& needs, const ListScope& scope) {
  if (!needs.counted.empty()) return counted_halo(placement, needs);
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

HaloNeeds spatial_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step) {
  if (!graph.has_structure()) return counted_needs(placement, graph, first_step);
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
        const auto row =
            static_cast<std::size_t>((first_step + static_cast<std::int64_t>(t)) * graph.vertices + run.first);
        for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[row + static_cast<std::size_t>(run.count)];
             ++e) {
          const auto u = static_cast<std::size_t>(graph.columns[static_cast<std::size_t>(e)]);
          if (map.owner[u] == r || seen[u] == stamp) continue;
          seen[u] = stamp;
          needed.push_back(static_cast<VertexId>(u));
        }
      }
      // By owner first: what a peer sends of a step then arrives as one run.
      std::sort(needed.begin(), needed.end(), [&map](VertexId u, VertexId v) {
        return std::pair(map.owner_of(u), u) < std::pair(map.owner_of(v), v);
      });
    }
  }
  return needs;
}

}  // namespace strobe
