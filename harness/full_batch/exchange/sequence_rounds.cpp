#include "harness/full_batch/exchange/sequence_rounds.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/server_route.hpp"

namespace strobe {
namespace {

const std::vector<PairRows> no_pairs;

/// The current state of a vertex's sequence while steps are walked.
struct Front {
  Rank owner = -1;  // at the previous step; -1 before a sequence
  std::int32_t round = 0;
  std::int64_t piece = -1;  // its number among the listed pieces of its round and owner; -1 if it is not listed
};

/// Walks all cells in order of time. Calls begin(v, t, front, before) where a piece begins. `before` is the piece that
/// hands over its state, or has owner -1. Calls extend(front) where a piece continues.
template <class Begin, class Extend>
void walk_pieces(const Placement& placement, const SequenceStart& start, const Begin& begin, const Extend& extend) {
  std::vector<Front> fronts(placement.vertices);
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    const VertexMap& map = placement.map(t);
    const bool reset = start.reset_every > 0 && (start.first_step + t) % start.reset_every == 0;
    for (VertexId v = 0; v < placement.vertices; ++v) {
      Front& front = fronts[v];
      const Rank owner = map.owner_of(v);
      if (reset) front.owner = -1;
      if (owner >= 0 && owner == front.owner) {
        extend(front);
        continue;
      }
      const Front before = front;
      front = {owner, before.owner < 0 ? 0 : before.round + 1, -1};
      if (owner >= 0) begin(v, t, front, before);
    }
  }
}

/// Lists pieces by round and owner, those in scope and what they exchange.
class PieceLists {
 public:
  PieceLists(const Placement& placement, const PieceScope& scope, bool at_once)
      : owners_(static_cast<std::size_t>(placement.ranks)), scope_(scope), at_once_(at_once) {
    if (at_once) rounds.emplace_back(owners_), sums_.push_back(no_sums());
  }

  /// Adds a piece that begins with cell (v, t). `given`: it is given a state, by `before` where that is a piece.
  void begin(VertexId v, Step t, Front& front, const Front& before, bool given) {
    for (; rounds.size() <= round_of(front); sums_.push_back(no_sums())) rounds.emplace_back(owners_);
    const bool passes = given && before.owner >= 0;
    if (passes && !scope_.needs.lists(before.owner, front.owner)) count(before, front);
    if (!scope_.needs.is_own(front.owner) && !(passes && scope_.needs.is_own(before.owner))) return;
    if (passes) giver(v, t, before).hands_on = true;
    std::vector<SequencePiece>& pieces = at(front);
    front.piece = static_cast<std::int64_t>(pieces.size());
    pieces.push_back({v, t, 1, given, false, 0});
  }
  void extend(const Front& front) {
    if (front.piece >= 0) ++at(front)[front.piece].steps;
  }
  RoundSums sums() const {
    RoundSums all;
    for (const PairSums& of_round : sums_) all.push_back(of_round.pairs());
    return all;
  }

  std::vector<RoundPieces> rounds;

 private:
  std::size_t round_of(const Front& front) const { return at_once_ ? 0 : static_cast<std::size_t>(front.round); }
  std::vector<SequencePiece>& at(const Front& front) { return rounds[round_of(front)][front.owner]; }
  PairSums no_sums() const {
    const auto& ranks = scope_.rank_of_owner;
    return PairSums(ranks.empty() ? static_cast<int>(owners_) : 1 + *std::max_element(ranks.begin(), ranks.end()));
  }
  void count(const Front& before, const Front& front) {
    const Rank from = scope_.rank_of(before.owner), to = scope_.rank_of(front.owner);
    if (from != to) sums_[round_of(front)].add(from, to);
  }
  /// The piece of `before`, which ends before cell (v, t). If it was not listed, its last step is now.
  SequencePiece& giver(VertexId v, Step t, const Front& before) {
    std::vector<SequencePiece>& pieces = at(before);
    if (before.piece >= 0) return pieces[before.piece];
    return pieces.emplace_back(SequencePiece{v, t - 1, 1, false, false, 0});
  }

  std::size_t owners_;
  const PieceScope& scope_;
  const bool at_once_;
  std::vector<PairSums> sums_;  // by round
};

/// For each piece with `flag`, its position among such pieces of its rank and round; -1 for others.
std::vector<std::int64_t> places(const std::vector<SequencePiece>& pieces, bool SequencePiece::*flag) {
  std::vector<std::int64_t> place;
  std::int64_t next = 0;
  for (const SequencePiece& piece : pieces) place.push_back(piece.*flag ? next++ : -1);
  return place;
}

std::int64_t count(const std::vector<SequencePiece>& pieces, bool SequencePiece::*flag) {
  return std::count_if(pieces.begin(), pieces.end(), [flag](const SequencePiece& piece) { return piece.*flag; });
}

/// A piece that hands its state on. It is found by the first cell of the piece that continues it.
struct Giver {
  Rank rank = 0;
  std::int64_t place = 0;
};

std::uint64_t cell_key(VertexId v, Step t) {
  return static_cast<std::uint64_t>(v) << 32 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(t));
}

std::unordered_map<std::uint64_t, Giver> givers_of(const RoundPieces& round) {
  std::unordered_map<std::uint64_t, Giver> givers;
  for (std::size_t r = 0; r < round.size(); ++r) {
    const auto place = places(round[r], &SequencePiece::hands_on);
    for (std::size_t i = 0; i < round[r].size(); ++i) {
      const SequencePiece& piece = round[r][i];
      if (piece.hands_on) givers[cell_key(piece.vertex, piece.first + piece.steps)] = {static_cast<Rank>(r), place[i]};
    }
  }
  return givers;
}

ExchangePlan handover(const RoundPieces& from, const RoundPieces& to, int ranks, std::int64_t blocks,
                      const ListScope& scope, const std::vector<PairRows>& beyond) {
  const auto givers = givers_of(from);
  PlanBuilder builder(ranks, scope_of_routed(scope));
  std::vector<std::int64_t> handed, given;
  for (std::size_t r = 0; r < to.size(); ++r) {
    handed.push_back(count(from[r], &SequencePiece::hands_on));
    given.push_back(count(to[r], &SequencePiece::given));
  }
  for (const PairRows& pair : beyond) {
    builder.count({pair.owner, pair.reader, blocks * pair.rows});
    handed[pair.owner] += pair.rows, given[pair.reader] += pair.rows;
  }
  for (std::size_t r = 0; r < to.size(); ++r) builder.rows(static_cast<Rank>(r), blocks * handed[r], blocks * given[r]);
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::size_t q = 0; q < to.size(); ++q) {
      const auto place = places(to[q], &SequencePiece::given);
      for (std::size_t i = 0; i < to[q].size(); ++i) {
        if (!to[q][i].given) continue;
        const Giver& giver = givers.at(cell_key(to[q][i].vertex, to[q][i].first));
        builder.move(giver.rank, static_cast<Rank>(q), block * handed[giver.rank] + giver.place,
                     block * given[q] + place[i], 1);
      }
    }
  }
  return through_servers(builder.finish(false), scope);
}

}  // namespace

std::vector<RoundPieces> sequence_rounds(const Placement& placement, const SequenceStart& start) {
  return sequence_rounds(placement, start, {}, nullptr);
}

std::vector<RoundPieces> sequence_rounds(const Placement& placement, const SequenceStart& start,
                                         const PieceScope& scope, RoundSums* beyond) {
  const bool begins_anew =
      start.first_step == 0 || (start.reset_every > 0 && start.first_step % start.reset_every == 0);
  PieceLists lists(placement, scope, false);
  walk_pieces(
      placement, start,
      [&](VertexId v, Step t, Front& front, const Front& before) {
        lists.begin(v, t, front, before, before.owner >= 0 || (t == 0 && !begins_anew));
      },
      [&](const Front& front) { lists.extend(front); });
  if (beyond != nullptr) *beyond = lists.sums();
  return std::move(lists.rounds);
}

RoundPieces pieces_at_once(const Placement& placement, const SequenceStart& start, bool handed, const PieceScope& scope,
                           RoundSums* beyond) {
  PieceLists lists(placement, scope, true);
  walk_pieces(
      placement, start,
      [&](VertexId v, Step t, Front& front, const Front& before) {
        lists.begin(v, t, front, before, handed && before.owner >= 0);
      },
      [&](const Front& front) { lists.extend(front); });
  if (beyond != nullptr) *beyond = lists.sums();
  return std::move(lists.rounds.front());
}

ExchangePlan handover_to_next_epoch(const RoundPieces& round, int ranks, const StateShape& shape,
                                    const ListScope& scope, const RoundSums& beyond) {
  return handover(round, round, ranks, shape.rows_per_vertex, scope, beyond.empty() ? no_pairs : beyond.front());
}

std::vector<RoundPieces> pieces_of_ranks(const std::vector<RoundPieces>& of_units,
                                         const std::vector<std::int64_t>& units_per_rank) {
  std::vector<RoundPieces> rounds;
  for (const RoundPieces& units : of_units) {
    RoundPieces& round = rounds.emplace_back(units_per_rank.size());
    std::size_t unit = 0;
    for (std::size_t rank = 0; rank < round.size(); ++rank) {
      std::vector<SequencePiece>& pieces = round[rank];
      for (const std::size_t end = unit + static_cast<std::size_t>(units_per_rank[rank]); unit < end; ++unit) {
        for (SequencePiece piece : units[unit]) {
          piece.unit = static_cast<std::int32_t>(unit);
          pieces.push_back(piece);
        }
      }
      std::sort(pieces.begin(), pieces.end(), [](const SequencePiece& a, const SequencePiece& b) {
        return std::pair(a.first, a.vertex) < std::pair(b.first, b.vertex);
      });
    }
  }
  return rounds;
}

std::vector<ExchangePlan> round_handovers(const std::vector<RoundPieces>& rounds, int ranks, const StateShape& shape,
                                          const ListScope& scope, const RoundSums& beyond) {
  std::vector<ExchangePlan> plans;
  for (std::size_t k = 1; k < rounds.size(); ++k)
    plans.push_back(
        handover(rounds[k - 1], rounds[k], ranks, shape.rows_per_vertex, scope, beyond.empty() ? no_pairs : beyond[k]));
  return plans;
}

}  // namespace strobe
