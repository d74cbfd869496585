// Redistributions. Where each step has one owner on at least one side, a rank's part follows from its own steps alone.
// Ranks are then computed one after the other, and no pairs are stored. Elsewhere moves are collected step by step.
#include <algorithm>
#include <utility>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/plan_builder.hpp"

namespace strobe {
namespace {

void check_same_cells(const Placement& from, const Placement& to) {
  if (from.ranks != to.ranks || from.vertices != to.vertices || from.steps() != to.steps()) {
    throw Error("redistribute: the placements are of different graphs or rank counts");
  }
}

/// Which steps concern which rank under one placement.
class StepsOfRanks {
 public:
  explicit StepsOfRanks(const Placement& placement) : placement_(placement) {
    for (Step t = 0; t < placement.steps(); ++t) {
      const VertexMap& map = placement.map(t);
      single_of_.push_back(map.single);
      if (map.single >= 0) {
        single_.emplace_back(map.single, t);
      } else if (!map.owned.empty()) {
        shared_.push_back(t);
      }
    }
    std::sort(single_.begin(), single_.end());
  }

  /// The one rank that owns a step, or -1.
  Rank single_of(Step t) const { return single_of_[t]; }

  /// Marks the ranks that own cells of some step.
  void mark(std::vector<bool>& owns) const {
    for (const auto& [rank, step] : single_) owns[rank] = true;
    const VertexMap* last = nullptr;
    for (const Step t : shared_) {
      const VertexMap& map = placement_.map(t);
      if (&map == last) continue;
      map.for_owners([&](Rank rank, std::int64_t) { owns[rank] = true; });
      last = &map;
    }
  }

  /// The steps at which a rank owns cells, ascending, each with its first row.
  class Cursor {
   public:
    Cursor(const StepsOfRanks& steps, Rank rank) : steps_(steps), rank_(rank) {
      single_ = std::lower_bound(steps.single_.begin(), steps.single_.end(), std::pair<Rank, Step>(rank, 0));
      find();
    }
    bool done() const { return rows_ == 0; }
    Step step() const { return step_; }
    std::int64_t first() const { return first_; }
    std::int64_t rows() const { return rows_; }
    void next() {
      first_ += rows_;
      find();
    }

   private:
    void find() {
      for (rows_ = 0; rows_ == 0;) {
        const bool single = single_ != steps_.single_.end() && single_->first == rank_;
        const bool shared = shared_ < steps_.shared_.size();
        if (!single && !shared) return;
        if (single && (!shared || single_->second < steps_.shared_[shared_])) {
          step_ = (single_++)->second;
          rows_ = steps_.placement_.vertices;
        } else {
          step_ = steps_.shared_[shared_++];
          rows_ = shared_rows();
        }
      }
    }

    /// Rows of a step with several owners. Such steps often share their map, so the last result is kept.
    std::int64_t shared_rows() {
      const std::int32_t map = steps_.placement_.map_of_step[step_];
      if (map != map_) map_rows_ = steps_.placement_.step_rows(rank_, step_);
      map_ = map;
      return map_rows_;
    }

    const StepsOfRanks& steps_;
    Rank rank_;
    std::vector<std::pair<Rank, Step>>::const_iterator single_;
    std::size_t shared_ = 0;
    Step step_ = 0;
    std::int64_t first_ = 0, rows_ = 0;
    std::int32_t map_ = -1;  // the last shared map, and the rank's rows of it
    std::int64_t map_rows_ = 0;
  };

 private:
  const Placement& placement_;
  std::vector<Rank> single_of_;                // [T]
  std::vector<std::pair<Rank, Step>> single_;  // steps with one owner, by owner
  std::vector<Step> shared_;                   // steps with several owners
};

/// The rows that the current rank exchanges with each peer.
class Peers {
 public:
  explicit Peers(std::size_t ranks) : with_(ranks) {}

  void add(Rank peer, std::int64_t from, std::int64_t count, bool listed) {
    PeerRuns& runs = with_[peer];
    if (runs.rows == 0) met_.push_back({peer, &runs});
    runs.add(from, count, listed);
  }
  /// Returns the side that these peers make, and forgets them.
  PeerSide take_side(bool sends) {
    const auto ascending = [](const PeerEntry& a, const PeerEntry& b) { return a.peer < b.peer; };
    if (!std::is_sorted(met_.begin(), met_.end(), ascending)) std::sort(met_.begin(), met_.end(), ascending);
    PeerSide side = side_of(met_, sends);
    for (const PeerEntry& entry : met_) with_[entry.peer] = PeerRuns();
    met_.clear();
    return side;
  }

 private:
  std::vector<PeerRuns> with_;  // [P]
  std::vector<PeerEntry> met_;
};

/// A redistribution in which each step has one owner on at least one side, or the same map on both.
class RankByRank {
 public:
  RankByRank(const Placement& from, const Placement& to, const ListScope& scope)
      : from_(from),
        to_(to),
        scope_(scope),
        from_steps_(from),
        to_steps_(to),
        peers_(static_cast<std::size_t>(from.ranks)) {}

  static bool serves(const Placement& from, const Placement& to) {
    for (Step t = 0; t < from.steps(); ++t) {
      const VertexMap &a = from.map(t), &b = to.map(t);
      if (a.single < 0 && b.single < 0 && &a != &b && !a.owner.empty() && !b.owner.empty()) return false;
    }
    return true;
  }

  ExchangePlan make() {
    std::vector<bool> owns(from_.ranks, false);
    from_steps_.mark(owns);
    to_steps_.mark(owns);
    ExchangePlan plan;
    plan.rank_count = from_.ranks;
    for (Rank r = 0; r < from_.ranks; ++r) {
      if (owns[r]) plan.ranks.push_back(rank(r));
    }
    plan.complete();
    return plan;
  }

 private:
  RankExchange rank(Rank r) {
    RankExchange rank;
    rank.rank = r;
    rank.input_rows = meet(r, from_steps_, to_steps_, to_);
    rank.send = peers_.take_side(true);
    rank.output_rows = meet(r, to_steps_, from_steps_, from_);
    rank.receive = peers_.take_side(false);
    keep(rank);
    return rank;
  }

  /// Records for each peer the rows of rank r that the peer owns in the other placement, `theirs`. Returns the number
  /// of rows that r owns.
  std::int64_t meet(Rank r, const StepsOfRanks& mine, const StepsOfRanks& others, const Placement& theirs) {
    const bool listed = scope_.covers(r);
    StepsOfRanks::Cursor own(mine, r);
    for (; !own.done(); own.next()) {
      const Rank peer = others.single_of(own.step());
      if (peer >= 0) {
        if (peer != r) peers_.add(peer, own.first(), own.rows(), listed);
      } else if (mine.single_of(own.step()) >= 0) {
        meet_owners(r, theirs.map(own.step()), own.first(), listed);
      }
    }
    return own.first();
  }

  void meet_owners(Rank r, const VertexMap& map, std::int64_t first, bool listed) {
    for (std::size_t q = 0; q < map.owned.size(); ++q) {
      const Rank peer = static_cast<Rank>(q);
      if (peer == r) continue;
      for (const Run& run : map.owned[q]) peers_.add(peer, first + run.first, run.count, listed);
    }
  }

  void keep(RankExchange& rank) const {
    StepsOfRanks::Cursor in(from_steps_, rank.rank), out(to_steps_, rank.rank);
    RowMove end{-1, -1, 0};
    while (!in.done() && !out.done()) {
      if (in.step() != out.step()) {
        (in.step() < out.step() ? in : out).next();
        continue;
      }
      keep_step(rank, end, in.step(), in.first(), out.first());
      in.next();
      out.next();
    }
  }

  /// Adds the rows that a rank keeps of one step. `from` and `to` are its first rows of the step.
  void keep_step(RankExchange& rank, RowMove& end, Step t, std::int64_t from, std::int64_t to) const {
    const VertexMap &a = from_.map(t), &b = to_.map(t);
    const bool listed = scope_.covers(rank.rank);
    if ((a.single >= 0) == (b.single >= 0)) {
      keep_rows(rank, end, from, to, a.count_of(rank.rank), listed);
      return;
    }
    std::int64_t position = 0;  // of a run among the rank's vertices on the side with several owners
    for (const Run& run : a.single >= 0 ? b.runs_of(rank.rank) : a.runs_of(rank.rank)) {
      const std::int64_t before = a.single >= 0 ? run.first : position, behind = a.single >= 0 ? position : run.first;
      keep_rows(rank, end, from + before, to + behind, run.count, listed);
      position += run.count;
    }
  }

  const Placement &from_, &to_;
  ListScope scope_;
  StepsOfRanks from_steps_, to_steps_;
  Peers peers_;
};

/// Consecutive vertices that one rank owns under one map and one rank under another, with their positions there.
struct Segment {
  Rank from = 0, to = 0;
  std::int64_t from_position = 0, to_position = 0, count = 0;
};

/// The segments of a step with maps a and b. Vertices ascend, except where a map has a single owner: then segments go
/// by rank.
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
  if (a.owner.empty() || b.owner.empty()) return {};  // no cell has an owner on both sides
  std::vector<std::int64_t> next_a(a.owned.size(), 0), next_b(b.owned.size(), 0);
  for (std::size_t v = 0; v < a.owner.size();) {
    const Rank r = a.owner[v], q = b.owner[v];
    std::int64_t count = 1;
    while (++v < a.owner.size() && a.owner[v] == r && b.owner[v] == q) ++count;
    // First position of these vertices among the vertices of a rank; unused without an owner.
    const auto take = [count](std::vector<std::int64_t>& next, Rank rank) {
      return rank < 0 ? 0 : std::exchange(next[rank], next[rank] + count);
    };
    const std::int64_t from = take(next_a, r), to = take(next_b, q);
    if (r >= 0 && q >= 0) segments.push_back({r, q, from, to, count});
  }
  return segments;
}

ExchangePlan step_by_step(const Placement& from, const Placement& to, const ListScope& scope) {
  PlanBuilder builder(from.ranks, scope);
  std::vector<std::int64_t> from_rows(from.ranks, 0), to_rows(from_rows);  // earlier steps
  std::pair<std::int32_t, std::int32_t> intersected{-1, -1};               // neighbouring steps often share their maps
  std::vector<Segment> segments;
  const auto count = [](const VertexMap& map, std::vector<std::int64_t>& rows) {
    map.for_owners([&rows](Rank rank, std::int64_t own) { rows[rank] += own; });
  };
  for (Step t = 0; t < from.steps(); ++t) {
    const std::size_t step = t;
    const std::pair maps{from.map_of_step[step], to.map_of_step[step]};
    if (t == 0 || maps != intersected) segments = intersect(from.map(t), to.map(t), from.vertices);
    intersected = maps;
    for (const Segment& s : segments) {
      builder.move(s.from, s.to, from_rows[s.from] + s.from_position, to_rows[s.to] + s.to_position, s.count);
    }
    count(from.map(t), from_rows);
    count(to.map(t), to_rows);
  }
  for (std::size_t r = 0; r < from_rows.size(); ++r) builder.rows(static_cast<Rank>(r), from_rows[r], to_rows[r]);
  return builder.finish(false);
}

/// A direction's list with source and target swapped.
PeerSide turned(const PeerSide& side) {
  PeerSide result = side;
  for (RowMove& move : result.list) std::swap(move.from, move.to);
  return result;
}

}  // namespace

ExchangePlan redistribute(const Placement& from, const Placement& to, const ListScope& scope) {
  check_same_cells(from, to);
  return RankByRank::serves(from, to) ? RankByRank(from, to, scope).make() : step_by_step(from, to, scope);
}

ExchangePlan reversed(const ExchangePlan& plan) {
  if (plan.fan_out) throw Error("exchange: rows that went to several places have no way back without sums");
  ExchangePlan back;
  back.rank_count = plan.rank_count;
  back.ranks.reserve(plan.ranks.size());
  for (const RankExchange& rank : plan.ranks) {
    RankExchange& other = back.ranks.emplace_back(rank);
    std::swap(other.input_rows, other.output_rows);
    for (RowMove& move : other.keep) std::swap(move.from, move.to);
    other.send = turned(rank.receive);
    other.receive = turned(rank.send);
  }
  back.complete();
  return back;
}

}  // namespace strobe
