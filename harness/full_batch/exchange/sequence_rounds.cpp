#include "harness/full_batch/exchange/sequence_rounds.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/server_route.hpp"

namespace strobe {
namespace {

/// The current state of a vertex's sequence while steps are walked.
struct Front {
  Rank owner = -1;  // at the previous step; -1 before a sequence
  std::int32_t round = 0;
  std::int64_t piece = 0;  // its number among the pieces of its round and rank
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
      front = {owner, before.owner < 0 ? 0 : before.round + 1, 0};
      if (owner >= 0) begin(v, t, front, before);
    }
  }
}

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
                      const ListScope& scope) {
  const auto givers = givers_of(from);
  PlanBuilder builder(ranks, scope_of_routed(scope));
  std::vector<std::int64_t> handed, given;
  for (std::size_t r = 0; r < to.size(); ++r) {
    handed.push_back(count(from[r], &SequencePiece::hands_on));
    given.push_back(count(to[r], &SequencePiece::given));
    builder.rows(static_cast<Rank>(r), blocks * handed[r], blocks * given[r]);
  }
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
  const bool begins_anew =
      start.first_step == 0 || (start.reset_every > 0 && start.first_step % start.reset_every == 0);
  std::vector<RoundPieces> rounds;
  const auto at = [&rounds](const Front& front) -> std::vector<SequencePiece>& {
    return rounds[front.round][front.owner];
  };
  walk_pieces(
      placement, start,
      [&](VertexId v, Step t, Front& front, const Front& before) {
        if (front.round >= static_cast<std::int32_t>(rounds.size()))
          rounds.emplace_back(static_cast<std::size_t>(placement.ranks));
        if (before.owner >= 0) at(before)[before.piece].hands_on = true;
        front.piece = static_cast<std::int64_t>(at(front).size());
        at(front).push_back({v, t, 1, before.owner >= 0 || (t == 0 && !begins_anew), false, 0});
      },
      [&](const Front& front) { ++at(front)[front.piece].steps; });
  return rounds;
}

RoundPieces pieces_at_once(const Placement& placement, const SequenceStart& start, bool handed) {
  RoundPieces round(static_cast<std::size_t>(placement.ranks));
  walk_pieces(
      placement, start,
      [&](VertexId v, Step t, Front& front, const Front& before) {
        const bool given = handed && before.owner >= 0;
        if (given) round[before.owner][before.piece].hands_on = true;
        front.piece = static_cast<std::int64_t>(round[front.owner].size());
        round[front.owner].push_back({v, t, 1, given, false, 0});
      },
      [&](const Front& front) { ++round[front.owner][front.piece].steps; });
  return round;
}

ExchangePlan handover_to_next_epoch(const RoundPieces& round, int ranks, const StateShape& shape,
                                    const ListScope& scope) {
  return handover(round, round, ranks, shape.rows_per_vertex, scope);
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
                                          const ListScope& scope) {
  std::vector<ExchangePlan> plans;
  for (std::size_t k = 1; k < rounds.size(); ++k)
    plans.push_back(handover(rounds[k - 1], rounds[k], ranks, shape.rows_per_vertex, scope));
  return plans;
}

}  // namespace strobe
